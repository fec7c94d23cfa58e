"""Tables out as they came in: a frame of the same library, or rows of a text file."""

import csv
import dataclasses
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wakesleep.atomic import replaced
from wakesleep.errors import UsageError
from wakesleep.schema import columnar_files
from wakesleep.schema.frame import Cells, Frame, Mask, Origin, object_array
from wakesleep.schema.reading import EXTENSIONS, is_table_file
from wakesleep.schema.values import cell_texts

LIBRARIES = ("pandas", "polars", "pyarrow")


def to_native(frame: Frame, like: Any = None) -> Any:
    """A frame of a library, its columns of the types that they have in `like`.

    Args:
        frame: the table.
        like: a frame of a library, a `Frame` that was read from one, or a library's name (pandas,
            polars, pyarrow); None for what the table itself came from. The index of a pandas
            frame is kept if it has as many rows. What came from a file goes out as a list of
            rows of text, the header first.

    >>> to_native(Frame((Cells("a", "whole", np.arange(2), np.array([False, True])),), 2))
    [['a'], ['0'], ['']]
    """
    origin = frame.origin if like is None else _origin(like)
    if origin.library is None:
        return list(to_rows(frame))
    if origin.library in ("pandas", "modin", "cudf"):
        from wakesleep.schema.pandas_output import pandas_frame

        return pandas_frame(frame, origin)
    from wakesleep.schema.narwhals_output import narwhals_frame

    return narwhals_frame(frame, origin)


def _origin(like: Any) -> Origin:
    if isinstance(like, Frame):
        return like.origin
    if isinstance(like, Origin):
        return like
    if isinstance(like, str):
        if like not in LIBRARIES:
            raise UsageError(f"no frame library is called {like!r}; valid: {', '.join(LIBRARIES)}")
        return Origin(like)
    import narwhals as nw

    template = nw.from_native(like, eager_only=True)
    return Origin(
        template.implementation.value,
        nw.to_native(template.head(0)),
        getattr(like, "index", None),
    )


def to_rows(frame: Frame) -> Iterator[list[str]]:
    """The header and the rows of a text file; a missing cell is empty."""
    yield list(frame.names)
    columns = [cell_texts(cells) for cells in frame.cells]
    for row in zip(*columns, strict=True):
        yield list(row)


def write_frame(frame: Frame, path: str | Path) -> None:
    """Write a table to a file of one of the kinds that `read_frame` takes, whole or not at all."""
    path = Path(path)
    if not is_table_file(path):
        raise UsageError(f"{path}: a table is written to one of {', '.join(EXTENSIONS)}")
    if path.suffix.lower() in columnar_files.EXTENSIONS:
        like = frame.origin if frame.origin.library == "pyarrow" else Origin("pyarrow")
        table = to_native(frame, like)
        with replaced(path) as file:
            columnar_files.write_columnar(table, file, path)
        return
    text = io.StringIO(newline="")
    plain = path.name.lower().removesuffix(".gz")
    delimiter = "\t" if plain.endswith(".tsv") else ";" if _has_commas(frame) else ","
    rows = to_rows(frame)
    text.write(delimiter.join(map(_header_cell, next(rows))) + "\n")
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    content = text.getvalue().encode("utf-8")
    with replaced(path) as file:
        file.write(gzip.compress(content, mtime=0) if path.suffix.lower() == ".gz" else content)


def _header_cell(name: str) -> str:
    """In quotes where a reader that looks for separators could be misled."""
    odd = not name or any(sign in name for sign in ',;|\t"\n\r')
    return '"' + name.replace('"', '""') + '"' if odd else name


def _has_commas(frame: Frame) -> bool:
    return frame.comma or any(cells.comma for cells in frame.cells)


def impute_missing(frame: Frame, drawn: Frame) -> Frame:
    """The table with its missing cells from another one of as many rows; all else as it was.

    Columns that `drawn` does not have, and cells that are missing there too, stay as they are.
    """
    if len(drawn) != len(frame):
        raise UsageError(f"{len(drawn)} rows cannot be the imputations of {len(frame)}")
    cells = tuple(
        _imputed(one, drawn[one.name]) if one.name in drawn and one.missing.any() else one
        for one in frame.cells
    )
    return dataclasses.replace(frame, cells=cells)


def _imputed(cells: Cells, drawn: Cells) -> Cells:
    gaps = cells.missing & ~drawn.missing
    return dataclasses.replace(_joined(cells, drawn, gaps), native=cells.native, imputed=gaps)


def _joined(cells: Cells, drawn: Cells, gaps: Mask) -> Cells:
    values = cells.values
    if cells.storage in ("text", "unknown"):
        texts = object_array(cell_texts(drawn))
        values = np.where(gaps, texts, values) if cells.storage == "text" else texts
        return dataclasses.replace(
            cells, storage="text", values=values, missing=cells.missing & ~gaps
        )
    if cells.storage in ("whole", "boolean") and drawn.storage == "real":
        # A column of whole numbers in this table that had decimals in training.
        cells = dataclasses.replace(cells, storage="real", decimals=drawn.decimals)
        values = values.astype(np.float64)
    if drawn.storage == "text":
        return dataclasses.replace(
            drawn, values=_both_texts(cells, drawn), missing=cells.missing & ~gaps
        )
    imputed = np.where(gaps, drawn.values.astype(values.dtype), values)
    return dataclasses.replace(cells, values=imputed, missing=cells.missing & ~gaps)


def _both_texts(cells: Cells, drawn: Cells) -> Any:
    own, other = object_array(cell_texts(cells)), object_array(cell_texts(drawn))
    return np.where(cells.missing, other, own)
