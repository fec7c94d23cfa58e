"""Tables with missing entries: text with empty, ? or nan cells, and .npy with nan."""

from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wakesleep.data.checks import as_bits, check_shape
from wakesleep.data.numpy_files import readable
from wakesleep.data.text_files import SEPARATORS, Line, clean, is_number, split_lines
from wakesleep.errors import DataError

MISSING = (b"", b"?", b"nan", b"na")
"""How a missing cell is written, in any case."""

EXTENSIONS = (".npy", *SEPARATORS)


class PartialTable(NamedTuple):
    """Bits `[N, D]`, 0 in place of missing ones, and which are missing."""

    bits: npt.NDArray[np.uint8]
    missing: npt.NDArray[np.bool_]


def read_partial(path: str | Path) -> PartialTable:
    """Read a table of 0, 1 and missing entries."""
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in EXTENSIONS:
        raise DataError(f"{file} must end in one of: {', '.join(EXTENSIONS)}")
    if not file.is_file():
        raise DataError(f"there is no file {file}")
    values = _read_npy(file) if suffix == ".npy" else _read_text(file, SEPARATORS[suffix])
    missing = np.isnan(values)
    return PartialTable(as_bits(np.where(missing, 0, values), str(file))[:], missing)


def _read_npy(path: Path) -> npt.NDArray[Any]:
    with readable(path):
        values = np.load(path, allow_pickle=False)
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biuf":
        raise DataError(f"{path} must hold one array of 0, 1 and nan")
    check_shape(values.shape, str(path))
    return values


def _read_text(path: Path, separator: bytes | None) -> npt.NDArray[np.float64]:
    lines = split_lines(path, separator)
    first = next(lines, None)
    kept = [] if first is None or _is_header(first) else [first]
    rows: list[list[float]] = []
    for number, cells in chain(kept, lines):
        rows.append(_values(path, number, cells))
        if len(cells) != len(rows[0]):
            raise DataError(
                f"{path}, line {number}: found {len(cells)} values, but the first row has "
                f"{len(rows[0])} (lines count from 1)"
            )
    if not rows:
        raise DataError(f"{path} has no rows, but it must have at least one line of cells")
    return np.array(rows)


def _is_header(line: Line) -> bool:
    """Names and no number; a row of nothing but missing cells is a row."""
    texts = [cell for cell in line[1] if not _is_missing(cell)]
    return bool(texts) and not any(map(is_number, texts))


def _is_missing(cell: bytes) -> bool:
    return clean(cell).lower() in MISSING


def _values(path: Path, number: int, cells: list[bytes]) -> list[float]:
    try:
        return [np.nan if _is_missing(cell) else float(clean(cell)) for cell in cells]
    except ValueError:
        known = [_is_missing(cell) or is_number(cell) for cell in cells]
        column = known.index(False)
        cell = clean(cells[column]).decode("utf-8", "replace")
        raise DataError(
            f"{path}, line {number}, column {column + 1}: found {cell!r}, but every cell must "
            "be 0, 1, or missing: empty, ? or nan (lines and columns count from 1)"
        ) from None
