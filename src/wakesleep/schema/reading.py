"""Tables as people have them: frames of any library, files, lists by column."""

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wakesleep.errors import DataError
from wakesleep.schema import columnar_files
from wakesleep.schema.frame import Frame
from wakesleep.schema.markers import MARKERS, without_numbers
from wakesleep.schema.text_tables import TextOptions, read_text_table

TEXT_EXTENSIONS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
EXTENSIONS = (*TEXT_EXTENSIONS, *columnar_files.EXTENSIONS)


def read_frame(
    table: Any,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    missing_markers: Iterable[str] = MARKERS,
) -> Frame:
    """Read a table.

    Args:
        table: a frame of pandas, polars, Arrow or another library that narwhals knows; the path
            of a file, .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .feather; a NumPy array of two
            dimensions; or a mapping from names to lists. A `Frame` passes through.
        delimiter: what stands between cells of a text file; found out by looking otherwise.
        header: whether a text file's first row has the columns' names; None, the default, takes
            it for names, and refuses it if all of them are numbers.
        encoding: of a text file.
        missing_markers: the spellings of a missing cell in columns of text; "?" is one only in
            a column whose other values have letters or digits. One that is a number, such as
            "-99", is one in columns of numbers too.

    >>> read_frame({"age": [31, None], "answer": ["yes", "no"]})
    Frame(the table: 2 rows of age, answer)
    """
    if isinstance(table, Frame):
        return table
    markers = frozenset(missing_markers)
    if isinstance(table, str | Path):
        frame = _read_file(Path(table), TextOptions(delimiter, header, encoding, markers))
    else:
        frame = _from_memory(table, markers)
    if markers != frozenset(MARKERS):
        frame = dataclasses.replace(
            frame, cells=without_numbers(frame.cells, markers), markers=tuple(sorted(markers))
        )
    return _checked(frame)


def is_table_file(path: str | Path) -> bool:
    """Whether a file's name is one of a table that can be read here."""
    return str(path).lower().endswith(EXTENSIONS)


def _read_file(path: Path, options: TextOptions) -> Frame:
    if not is_table_file(path):
        raise DataError(
            f"{path} is of no kind that can be read as a table; valid extensions: "
            f"{', '.join(EXTENSIONS)}"
        )
    if not path.exists():
        raise DataError(f"there is no file {path}")
    if not path.is_file():
        raise DataError(f"{path} is not a file")
    try:
        if str(path).lower().endswith(TEXT_EXTENSIONS):
            return read_text_table(path, options)
        arrow = columnar_files.read_columnar(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    from wakesleep.schema.foreign_frames import from_native

    return from_native(arrow, str(path), options.markers)


def _from_memory(table: Any, markers: frozenset[str]) -> Frame:
    # Frame libraries are loaded by those who have frames, and narwhals with them.
    from wakesleep.schema import foreign_frames

    if isinstance(table, np.ndarray):
        return foreign_frames.from_array(table, markers)
    if isinstance(table, Mapping):
        return foreign_frames.from_columns(table, markers)
    if foreign_frames.is_frame(table):
        return foreign_frames.from_native(table, "the frame", markers)
    raise DataError(
        f"a table cannot be made of {type(table).__name__}: give a frame (pandas, polars, Arrow), "
        "a file's path, an array of two dimensions or lists by column"
    )


def _checked(frame: Frame) -> Frame:
    if not frame.cells:
        raise DataError(f"{frame.source} has no columns: give it at least one")
    if not frame.rows:
        raise DataError(f"{frame.source} has no rows: give it at least one")
    for cells in frame.cells:
        if cells.storage != "real":
            continue
        infinite = np.isinf(cells.values) & ~cells.missing
        if infinite.any():
            raise DataError(
                f"{frame.place(int(infinite.argmax()), cells.name)} is infinite: give a number "
                "there, or leave it missing"
            )
    return frame
