"""Tables in text files: comma, semicolon, tab or bar between cells, a header, UTF-8."""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from wakesleep.errors import DataError
from wakesleep.schema.frame import Cells, Frame, listed, object_array, quoted
from wakesleep.schema.markers import missing_texts

DELIMITERS = (",", ";", "\t", "|")
FORCED = {".tsv": "\t"}
LOOK_AT = 50
"""How many records decide what stands between the cells."""

ONE_COLUMN = (
    "there is one column only: if there should be more, put commas, semicolons or tabs between them"
)

_SEPARATOR_LINE = re.compile(r'"?sep=([,;\t|])"?(?=[\r\n])', re.IGNORECASE)

_STRANGERS = {
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"PAR1": "a Parquet file",
    b"ARROW1": "a Feather file",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF document",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
}


@dataclass(frozen=True)
class TextOptions:
    """How a text file is to be read.

    Attributes:
        delimiter: what stands between cells; None finds out.
        header: True takes the first row for names whatever it is, False takes it for values,
            None for names unless all of them are numbers, which is refused.
        encoding: of the characters.
        markers: the spellings of a missing cell.
    """

    delimiter: str | None = None
    header: bool | None = None
    encoding: str = "utf-8"
    markers: frozenset[str] = frozenset()


def read_text_table(path: Path, options: TextOptions) -> Frame:
    """Read a .csv or .tsv file, compressed by gzip or not; every column is text."""
    text, declared = _declared(_decoded(_content(path), path, options.encoding))
    delimiter = options.delimiter or declared or FORCED.get(_plain_suffix(path)) or _delimiter(text)
    records, lines = _records(text, delimiter, path)
    if not records:
        raise DataError(f"{path} is empty: it must have a header and at least one row")
    top = f"{path}, line {lines[0]}"
    names = _header(records[0], top, options.header)
    if options.header is not False:
        records, lines = records[1:], lines[1:]
    if not records:
        raise DataError(f"{path} has a header and no rows: give it at least one row")
    _check_widths(records, lines, names, path)
    columns = _without_trailing(list(map(list, zip(*records, strict=True))), names, top)
    return Frame(
        tuple(
            _cells(name, column, options.markers)
            for name, column in zip(names, columns, strict=False)
        ),
        len(records),
        str(path),
        np.asarray(lines, np.int64),
        "line",
        comma=delimiter != ",",
        notes=_notes(names[: len(columns)], options.header),
    )


def _notes(names: Sequence[str], header: bool | None) -> tuple[str, ...]:
    numbers = [name for name in names if _is_number(name)]
    if header is None and numbers:
        return (
            f"the first row is taken for names, {listed(numbers, 2)} among them: --header says "
            "that it is one, --no-header that it has values",
        )
    return (ONE_COLUMN,) if len(names) == 1 else ()


def _plain_suffix(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    if not path.name.lower().endswith(".gz"):
        return content
    try:
        return gzip.decompress(content)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(
            f"{path} cannot be unpacked ({error}): compress it again with gzip"
        ) from error


def _decoded(content: bytes, path: Path, encoding: str) -> str:
    for start, kind in _STRANGERS.items():
        if content.startswith(start) and not ("UTF-16" in kind and "16" in encoding):
            raise DataError(f"{path} is {kind}, not a text table: save it as CSV in UTF-8")
    try:
        text = content.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except LookupError:
        raise DataError(f"{path}: no encoding is called {quoted(encoding)}; try utf-8") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {line}: byte 0x{content[error.start]:02x} at position {error.start} of "
            f"the file is not {encoding}: save the file as UTF-8, or give its encoding, as in "
            "--encoding latin-1"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(
            f"{path}, line {line} has a NUL byte: this is no text table, or a broken one"
        )
    return text


def _declared(text: str) -> tuple[str, str | None]:
    """Excel's first line `sep=;` blank, so that lines keep their numbers, and what it says."""
    found = _SEPARATOR_LINE.match(text)
    return (text[found.end() :], found[1]) if found else (text, None)


def _delimiter(text: str) -> str:
    """The one that cuts the first records most alike; a comma where none is in the header."""
    best, most = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        try:
            widths = [len(cells) for cells in islice(_reader(text, delimiter), LOOK_AT) if cells]
        except csv.Error:
            continue
        if widths and widths[0] > 1:
            score = (sum(width == widths[0] for width in widths) / len(widths), widths[0])
            best, most = (delimiter, score) if score > most else (best, most)
    return best


def _reader(text: str, delimiter: str) -> Any:
    # `strict`: an open quote would otherwise swallow the rest of the file without a word.
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)


def _records(text: str, delimiter: str, path: Path) -> tuple[list[list[str]], list[int]]:
    """Every record that is not blank, and the line it begins at."""
    reader = _reader(text, delimiter)
    records: list[list[str]] = []
    lines: list[int] = []
    start = 1
    try:
        for cells in reader:
            if cells and not (len(cells) == 1 and cells[0].isspace()):
                records.append(cells)
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{path}, line {start}: a quoted cell is not closed as it should be ({error}): write "
            'quotes inside a cell twice ("") and end each quoted cell with one'
        ) from None
    return records, lines


def _header(first: list[str], place: str, header: bool | None) -> list[str]:
    if header is False:
        return [f"column_{number}" for number in range(1, len(first) + 1)]
    names = [name.strip() for name in first]
    if header is None and all(map(_is_number, names)):
        raise DataError(
            f"{place}: the first row ({', '.join(names[:3])}, ...) has numbers and no names: add a "
            "header, or say that there is none (--no-header)"
        )
    for number, name in enumerate(names, 1):
        # R writes row names under an empty first name, and some tools end lines with a comma.
        if not name and 1 < number < len(names):
            raise DataError(f"{place}: column {number} has no name: give it one")
        if name in names[: number - 1]:
            raise DataError(
                f"{place}: columns {names.index(name) + 1} and {number} are both called "
                f"{quoted(name)}: rename one of them"
            )
    if not any(names):
        raise DataError(f"{place} has no column names: give each column one")
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_widths(
    records: Sequence[Sequence[str]], lines: Sequence[int], names: Sequence[str], path: Path
) -> None:
    width = len(names)
    if set(map(len, records)) == {width}:
        return
    row = next(i for i, cells in enumerate(records) if len(cells) != width)
    count = len(records[row])
    start = f"{path}, line {lines[row]} has {count} cell{'' if count == 1 else 's'}, but "
    there = "there is 1 column" if width == 1 else f"there are {width} columns"
    if count < width:
        raise DataError(
            f"{start}{there} and nothing stands under {quoted(names[count])}: "
            "fill the row up with empty cells"
        )
    if width == 1 and row == 0:
        raise DataError(
            f"{start}above it stands one alone, {quoted(names[0])}: if that is a title and no "
            "header, take its line out"
        )
    raise DataError(
        f"{start}{there}, the last of them {quoted(names[-1])}: put quotes "
        "around cells that hold the separator, or take the extra cells out"
    )


def _without_trailing(columns: list[list[str]], names: list[str], top: str) -> list[list[str]]:
    """Without the last column where it is only the separator at the end of every line."""
    if names[-1] or len(names) == 1:
        return columns
    if any(cell.strip() for cell in columns[-1]):
        raise DataError(f"{top}: column {len(names)} has no name: give it one")
    return columns[:-1]


def _cells(name: str, column: list[str], markers: frozenset[str]) -> Cells:
    joined = "".join(column)
    spaced = " " in joined or "\t" in joined
    values = [cell.strip() for cell in column] if spaced else column
    return Cells(name, "text", object_array(values), missing_texts(values, markers))
