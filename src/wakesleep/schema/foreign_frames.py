"""Frames of pandas, polars, Arrow and what else narwhals knows, taken apart into columns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from wakesleep.errors import DataError
from wakesleep.schema.frame import Cells, Frame, Mask, Origin, object_array
from wakesleep.schema.markers import missing_texts


def is_frame(table: Any) -> bool:
    """Whether narwhals takes this for a frame, lazy ones included."""
    try:
        frame = nw.from_native(table, pass_through=True)
    except nw.exceptions.DuplicateError:
        names = list(table.columns)
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the frame has two columns called {twice!r}: rename one of them") from None
    return isinstance(frame, nw.DataFrame | nw.LazyFrame)


def check_collected(table: Any, source: str) -> None:
    """Refuse a frame that is a plan of one."""
    if isinstance(nw.from_native(table, pass_through=True), nw.LazyFrame):
        raise DataError(f"{source} is a lazy one: give what its collect() returns")


def from_native(table: Any, source: str, markers: frozenset[str]) -> Frame:
    """A frame of any library, with what is needed to give back one like it."""
    check_collected(table, source)
    frame = nw.from_native(table, pass_through=True)
    for name in _column_names(table, frame):
        if not isinstance(name, str):
            raise DataError(
                f"{source} has a column called {name!r}, which is no text: rename the columns, "
                "such as by frame.columns = frame.columns.astype(str)"
            )
    native = nw.to_native(frame)
    library = frame.implementation.value
    origin = Origin(library, nw.to_native(frame.head(0)), getattr(native, "index", None))
    columns = (frame[name] for name in frame.columns)
    cells = tuple(replace(_series_cells(one, markers), native=one) for one in columns)
    return Frame(cells, len(frame), source, origin=origin)


def from_columns(columns: Mapping[str, Sequence[Any]], markers: frozenset[str]) -> Frame:
    """A frame of lists by name; None and NaN are missing."""
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise DataError("the columns of a table must all be equally long")
    cells = tuple(object_cells(name, list(one), markers) for name, one in columns.items())
    return Frame(cells, lengths.pop() if lengths else 0)


def from_array(array: npt.NDArray[Any], markers: frozenset[str]) -> Frame:
    """The columns of a NumPy array, called x0, x1 and so on."""
    if array.ndim != 2:
        raise DataError(
            f"an array of {array.ndim} dimensions is no table: it must have 2, rows and columns"
        )
    names = [f"x{number}" for number in range(array.shape[1])]
    if array.dtype.kind in "biuf":
        cells = tuple(
            _numpy_cells(name, column) for name, column in zip(names, array.T, strict=True)
        )
        return Frame(cells, len(array))
    return Frame(
        tuple(
            object_cells(name, column.tolist(), markers)
            for name, column in zip(names, array.T, strict=True)
        ),
        len(array),
    )


def _column_names(table: Any, frame: Any) -> Sequence[Any]:
    # pandas may call columns by anything; narwhals passes that through.
    return list(getattr(table, "columns", frame.columns)) if hasattr(table, "index") else []


def _series_cells(series: Any, markers: frozenset[str]) -> Cells:
    """One column, by the type that narwhals gives it."""
    name, dtype = series.name, series.dtype
    if dtype == nw.Boolean:
        missing = _null(series)
        return Cells(name, "boolean", _filled(series, missing, False).astype(bool), missing)
    if dtype.is_integer():
        return _whole_cells(series)
    if dtype.is_float() or dtype.is_decimal():
        return _numpy_cells(name, _floats(series))
    if dtype in (nw.Categorical, nw.Enum):
        return _level_cells(series)
    if dtype in (nw.Date, nw.Datetime):
        return _moment_cells(series)
    if dtype in (nw.String, nw.Object, nw.Time):
        return object_cells(name, series.to_list(), markers)
    native = nw.to_native(series)
    if hasattr(native, "sparse"):
        return _series_cells(nw.from_native(native.sparse.to_dense(), series_only=True), markers)
    shown = native.dtype if dtype == nw.Unknown else dtype
    problem = f"its type, {shown}, is none of text, numbers, dates and levels"
    return _unknown(name, series.to_list(), _null(series), problem)


def _null(series: Any) -> Mask:
    return np.asarray(series.is_null().to_numpy(), bool)


def _filled(series: Any, missing: Mask, value: Any) -> npt.NDArray[Any]:
    return (series.fill_null(value) if missing.any() else series).to_numpy()


def _whole_cells(series: Any) -> Cells:
    missing = _null(series)
    values = _filled(series, missing, 0)
    if _is_beyond_int64(values):
        # Digits, as a text file has them: floats would make one of several identifiers.
        return Cells(series.name, "text", object_array(list(map(str, values.tolist()))), missing)
    return Cells(series.name, "whole", values.astype(np.int64), missing)


def _is_beyond_int64(values: npt.NDArray[Any]) -> bool:
    return values.dtype == np.uint64 and bool((values > np.iinfo(np.int64).max).any())


def _floats(series: Any) -> npt.NDArray[Any]:
    if series.dtype.is_decimal():
        series = series.cast(nw.Float64)
    missing = _null(series)
    values = np.array(_filled(series, missing, 0.0))
    values[missing] = np.nan
    return values


def _numpy_cells(name: str, values: npt.NDArray[Any]) -> Cells:
    if values.dtype.kind == "b":
        return Cells(name, "boolean", values, np.zeros(len(values), bool))
    if values.dtype.kind in "iu" and not _is_beyond_int64(values):
        return Cells(name, "whole", values.astype(np.int64), np.zeros(len(values), bool))
    if values.dtype.itemsize < 8:
        # 0.1 of 32 bits is meant to be 0.1, not the 0.10000000149 that 64 bits make of it.
        values = values.astype(str)
    numbers = values.astype(np.float64)
    missing = np.isnan(numbers)
    return Cells(name, "real", np.where(missing, 0.0, numbers), missing)


def _level_cells(series: Any) -> Cells:
    values = series.to_list()
    missing = _null(series)
    dtype: Any = getattr(nw.to_native(series), "dtype", None)
    texts = ["" if absent else str(v) for v, absent in zip(values, missing, strict=True)]
    # pandas declares its levels, in their order; others' are those that are there.
    declared = dtype.categories if hasattr(dtype, "ordered") else sorted(set(texts) - {""})
    levels = tuple(map(str, declared))
    ordered = bool(getattr(dtype, "ordered", False))
    return Cells(series.name, "text", object_array(texts), missing, levels, ordered)


def _moment_cells(series: Any) -> Cells:
    missing = _null(series)
    if series.dtype == nw.Datetime and series.dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if series.dtype == nw.Date:
        # What stands for a missing one differs from library to library.
        first = date(1970, 1, 1)
        days = [first if gap else day for day, gap in zip(series.to_list(), missing, strict=True)]
        return Cells(series.name, "date", np.array(days, "datetime64[D]"), missing)
    moments = series.to_numpy().astype("datetime64[us]")
    moments = np.where(missing, np.datetime64(0, "us"), moments)
    return Cells(series.name, "datetime", moments, missing)


def object_cells(name: str, values: list[Any], markers: frozenset[str]) -> Cells:
    """Python objects: of one type, or text where they are mixed."""
    missing = np.fromiter(map(_is_absent, values), bool, len(values))
    present = [value for value, absent in zip(values, missing, strict=True) if not absent]
    kinds = {_kind(value) for value in present}
    if kinds == {"boolean"}:
        return _of(name, "boolean", values, missing, False)
    if kinds == {"whole"} and all(abs(value) < 2**63 for value in present):
        return _of(name, "whole", values, missing, 0)
    if kinds and kinds <= {"whole", "real"}:
        numbers = [0.0 if absent else float(v) for v, absent in zip(values, missing, strict=True)]
        return Cells(name, "real", np.array(numbers, np.float64), missing)
    if kinds == {"date"}:
        return _of(name, "date", values, missing, date(1970, 1, 1))
    if kinds == {"datetime"}:
        moments = [v if absent else _in_utc(v) for v, absent in zip(values, missing, strict=True)]
        return _of(name, "datetime", moments, missing, datetime(1970, 1, 1))
    if not kinds <= {"text", "whole", "real", "boolean", "date", "datetime", "time"}:
        problem = "its cells are neither text nor numbers, dates or truth values"
        return _unknown(name, values, missing, problem)
    texts = ["" if absent else str(v).strip() for v, absent in zip(values, missing, strict=True)]
    return Cells(name, "text", object_array(texts), missing | missing_texts(texts, markers))


def _unknown(name: str, values: list[Any], missing: Mask, problem: str) -> Cells:
    texts = ["" if absent else str(v) for v, absent in zip(values, missing, strict=True)]
    return Cells(name, "unknown", object_array(texts), missing, problem=problem)


def _in_utc(moment: datetime) -> datetime:
    """Without a time zone; as it is where it has none."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


_TYPES: dict[str, Any] = {
    "boolean": bool,
    "whole": np.int64,
    "date": "datetime64[D]",
    "datetime": "datetime64[us]",
}


def _of(name: str, storage: Any, values: list[Any], missing: Mask, filler: Any) -> Cells:
    present = [filler if absent else v for v, absent in zip(values, missing, strict=True)]
    return Cells(name, storage, np.array(present, _TYPES[storage]), missing)


def _is_absent(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA, none of which equals itself for sure."""
    if value is None or isinstance(value, str):
        return value is None
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _kind(value: Any) -> str:
    kinds: tuple[tuple[Any, str], ...] = (
        (str, "text"),
        ((bool, np.bool_), "boolean"),
        (Integral, "whole"),
        ((Real, Decimal), "real"),
        (datetime, "datetime"),
        (date, "date"),
        (time, "time"),
    )
    return next((kind for types, kind in kinds if isinstance(value, types)), type(value).__name__)
