"""What scikit-learn's users give as X: frames, arrays, sparse matrices; read, and given back."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from wakesleep.data import PackedBits, as_bits
from wakesleep.errors import DataError
from wakesleep.schema import Cells, Frame, LevelColumn, Schema, read_frame, to_native
from wakesleep.schema.foreign_frames import is_frame
from wakesleep.schema.frame import Origin
from wakesleep.schema.values import cell_texts

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Form:
    """How a table came in, so that another can go out alike.

    Attributes:
        names: the columns' names in the schema, in the table's order.
        origin: of a frame: its library, types and index; None for an array.
        labels: what the frame itself calls its columns.
        dtype: of an array.
    """

    names: tuple[str, ...]
    origin: Origin | None = None
    labels: tuple[Any, ...] = ()
    dtype: Any = np.float64

    def give(self, frame: Frame) -> Any:
        """A table in this form; columns of the frame that the form does not know come last."""
        if self.origin is None:
            return self._array(frame)
        known = [name for name in self.names if name in frame]
        further = [name for name in frame.names if name not in self.names]
        ordered = frame.select([*known, *further])
        native = to_native(ordered, self.origin)
        labels = dict(zip(self.names, self.labels, strict=True))
        return _relabelled(native, [labels.get(name, name) for name in ordered.names])

    def without_index(self) -> "Form":
        """The form of rows that are others, such as samples."""
        if self.origin is None:
            return self
        return dataclasses.replace(self, origin=dataclasses.replace(self.origin, index=None))

    def _array(self, frame: Frame) -> Array:
        """`[N, D]`, of the dtype that came in where it can hold what goes out."""
        known = {cells.name: cells for cells in frame.cells}
        columns = [known.get(name) for name in self.names]
        numeric = all(one is None or one.storage in NUMERIC for one in columns)
        complete = all(one is not None and not one.missing.any() for one in columns)
        out = np.full((len(frame), len(columns)), np.nan, float if numeric else object)
        for place, cells in enumerate(columns):
            if cells is not None:
                values = cells.values if numeric or cells.storage != "text" else cell_texts(cells)
                out[:, place] = np.where(cells.missing, out[:, place], values)
        whole = complete and numeric and np.array_equal(out, out.astype(self.dtype))
        return out.astype(self.dtype) if whole or self.dtype.kind == "f" else out


NUMERIC = ("whole", "real", "boolean")


def given_frame(X: Any) -> bool:
    """Whether X has columns with types of their own."""
    return not isinstance(X, np.ndarray | list | tuple) and is_frame(X)


def form_of_array(table: Any, names: Sequence[str]) -> Form:
    """The form of a checked array or sparse matrix."""
    return Form(tuple(names), dtype=table.dtype)


def read_foreign(X: Any, names: Sequence[str] | None) -> tuple[Frame, Form]:
    """A frame of a library, its columns under their own names, or by their places under others'."""
    labels = list(X.columns) if hasattr(X, "index") else None
    if labels and not all(isinstance(label, str) for label in labels):
        # pandas may call columns by numbers; scikit-learn goes by their places then.
        X = X.set_axis([f"x{place}" for place in range(len(labels))], axis=1)
    frame = read_frame(X)
    own = labels or list(frame.names)
    if names is not None:
        frame = renamed(frame, names)
    template = frame.origin.template
    if template is not None and names is not None:
        template = _relabelled(template, list(frame.names))
    origin = dataclasses.replace(frame.origin, template=template)
    return frame, Form(frame.names, origin, tuple(own))


def _relabelled(native: Any, labels: list[Any]) -> Any:
    """A frame of a library with other names for its columns."""
    if hasattr(native, "index"):
        return native.set_axis(labels, axis=1)
    frame = nw.from_native(native, eager_only=True)
    return nw.to_native(frame.rename(dict(zip(frame.columns, labels, strict=True))))


def read_array(table: Array, names: Sequence[str]) -> Frame:
    """The columns of an array under these names."""
    return renamed(read_frame(table), names)


def renamed(frame: Frame, names: Sequence[str]) -> Frame:
    """The same columns under other names."""
    cells = [dataclasses.replace(c, name=name) for c, name in zip(frame.cells, names, strict=True)]
    return dataclasses.replace(frame, cells=tuple(cells))


def thresholded(frame: Frame, threshold: float) -> tuple[Frame, tuple[str, ...]]:
    """Columns of numbers as 0 and 1, and which those are; gaps, words and truth values stay."""
    chosen = [cells.name for cells in frame.cells if cells.storage in ("whole", "real")]
    cells = [_above(one, threshold) if one.name in chosen else one for one in frame.cells]
    return dataclasses.replace(frame, cells=tuple(cells)), tuple(chosen)


def _above(cells: Cells, threshold: float) -> Cells:
    bits = (cells.values > threshold).astype(np.int64)
    whole = dataclasses.replace(cells, storage="whole", decimals=None)
    return whole.with_values(bits, cells.missing)


def constant_names(frame: Frame, names: Sequence[str]) -> list[str]:
    """Those of some columns that have one value only."""
    return [n for n in names if len(np.unique(frame[n].values[~frame[n].missing])) < 2]


def bits_or_none(table: Any) -> PackedBits | None:
    """An array or a sparse matrix of nothing but 0 and 1 as bits; None for any other."""
    if table.dtype.kind not in "biuf":
        return None
    try:
        return as_bits(table, "X")
    except DataError:
        return None


def is_of_bits(frame: Frame) -> bool:
    """Whether every cell is 0, 1 or missing."""
    return all(
        cells.storage in NUMERIC
        and bool(np.isin(cells.values[~cells.missing].astype(float), (0, 1)).all())
        for cells in frame.cells
    )


def bit_schema(names: Sequence[str], rows: int) -> Schema:
    """Every column a bit, one that is constant in these rows too."""
    columns = (LevelColumn(name, "binary", ("0", "1"), "whole") for name in names)
    return Schema(tuple(columns), rows)
