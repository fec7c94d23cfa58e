"""Tables in text files: .csv, .tsv, .data (commas) and .amat (white space)."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from wakesleep.data.bits import BLOCK_CELLS, Bits, PackedBits
from wakesleep.data.checks import bad_cell
from wakesleep.errors import DataError

SEPARATORS: dict[str, bytes | None] = {".csv": b",", ".tsv": b"\t", ".data": b",", ".amat": None}
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Line = tuple[int, list[bytes]]
"""A line's number, from 1, and its cells."""


class _Spellings(dict[bytes, bytes]):
    """b"0" or b"1" for every spelling of a bit met so far; other cells raise `ValueError`."""

    def __missing__(self, cell: bytes) -> bytes:
        value = float(clean(cell))
        if value not in (0.0, 1.0):
            raise ValueError
        bit = b"1" if value else b"0"
        self[cell] = bit
        return bit


def read_text(path: Path) -> PackedBits:
    """Read a table of 0 and 1, a line per row, never the whole file at once.

    Blank lines are skipped. Where a character separates the cells, the first line is a
    header if it has text and no number: a row with one wrong cell is not taken for a header.
    """
    separator = SEPARATORS[path.suffix.lower()]
    lines = split_lines(path, separator)
    top = next(lines, None)
    names = top if top and separator and _is_header(top) else None
    rows = lines if names or not top else chain([top], lines)
    blocks = _blocks(_rows(rows, path, names))
    head = next(blocks, None)
    if head is None:
        raise DataError(f"{path} has no rows, but it must have at least one line of 0 and 1")
    return PackedBits.from_blocks(chain([head], blocks))


def split_lines(path: Path, separator: bytes | None) -> Iterator[Line]:
    """Every line that is not blank, cut into cells."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            # Tabs stay: in a .tsv they are empty cells, not blank space.
            text = line.removeprefix(BYTE_ORDER_MARK).strip(b" \r\n")
            cells = text.split(separator) if text else []
            if cells:
                yield number, cells


def _is_header(line: Line) -> bool:
    texts = [cell for cell in line[1] if clean(cell)]
    return bool(texts) and not any(map(is_number, texts))


def _rows(lines: Iterable[Line], path: Path, names: Line | None) -> Iterator[bytes]:
    """Each line's bits as the characters 0 and 1; as many as there are names, if there are any."""
    spellings = _Spellings()
    first, width = (names[0], len(names[1])) if names else (0, 0)
    for number, cells in lines:
        first, width = first or number, width or len(cells)
        if len(cells) != width:
            raise DataError(
                f"{path}, line {number}: found {len(cells)} values, but line {first} has {width} "
                "(lines count from 1)"
            )
        try:
            yield b"".join([spellings[cell] for cell in cells])
        except ValueError:
            raise _bad_line(path, number, cells, spellings) from None


def _bad_line(path: Path, number: int, cells: list[bytes], spellings: _Spellings) -> DataError:
    column = next(i for i, cell in enumerate(cells) if not _is_bit(cell, spellings))
    text = clean(cells[column]).decode("utf-8", "replace")
    if not text:
        value = "an empty cell"
    elif is_number(cells[column]):
        value = text
    else:
        value = f"{text!r}, which is no number"
    return bad_cell(f"{path}, line {number}, column {column + 1}", value, counted="lines")


def _blocks(rows: Iterable[bytes]) -> Iterator[Bits]:
    block: list[bytes] = []
    cells = 0
    for row in rows:
        block.append(row)
        cells += len(row)
        if cells >= BLOCK_CELLS:
            yield _unpack(block)
            block, cells = [], 0
    if block:
        yield _unpack(block)


def _unpack(block: list[bytes]) -> Bits:
    characters = np.frombuffer(b"".join(block), dtype=np.uint8)
    return characters.reshape(len(block), -1) - ord("0")


def clean(cell: bytes) -> bytes:
    """A cell without blanks and quotes around it."""
    return cell.strip().strip(b"\"'")


def is_number(cell: bytes) -> bool:
    """Whether a cell reads as a number; nan does."""
    try:
        float(clean(cell))
    except ValueError:
        return False
    return True


def _is_bit(cell: bytes, spellings: _Spellings) -> bool:
    try:
        return bool(spellings[cell])
    except ValueError:
        return False
