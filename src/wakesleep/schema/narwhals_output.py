"""Frames of polars, Arrow and the other libraries that narwhals knows, out."""

from datetime import datetime, time
from typing import Any

import narwhals as nw
import numpy as np

from wakesleep.schema.frame import Cells, Frame, Origin
from wakesleep.schema.values import cell_texts


def narwhals_frame(frame: Frame, origin: Origin) -> Any:
    """A frame of the template's library; columns that it does not have get types of their own."""
    known: Any = {}
    if origin.template is not None:
        known = nw.from_native(origin.template, eager_only=True).schema
    assert origin.library is not None
    series = [_own_or_made(cells, known.get(cells.name), origin.library) for cells in frame.cells]
    native = nw.to_native(nw.from_dict({one.name: one for one in series}))
    if origin.library == "pyarrow" and origin.template is not None:
        return _arrow_texts(native, origin.template)
    return native


def _arrow_texts(table: Any, template: Any) -> Any:
    """Arrow has several types of text and of levels, which are one to narwhals."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        known = field.name in template.schema.names
        wanted = template.schema.field(field.name).type if known else field.type
        if wanted == field.type or not (_is_text(wanted) and _is_text(field.type)):
            continue
        try:
            table = table.set_column(place, field.name, table.column(place).cast(wanted))
        except pa.ArrowInvalid:
            continue  # more levels than a short index can count
    return table


def _is_text(dtype: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(dtype):
        return _is_text(dtype.value_type)
    return bool(pa.types.is_string(dtype) or pa.types.is_large_string(dtype))


def _own_or_made(cells: Cells, dtype: Any, library: Any) -> Any:
    """The library's own column, with what was imputed; one that is made of the cells elsewhere."""
    own = cells.native
    if own is None or own.implementation.value != library:
        return _series(cells, dtype, library)
    own = own.alias(cells.name)
    if cells.imputed is None or not cells.imputed.any():
        return own
    made = _series(cells, dtype, library)
    if own.dtype == made.dtype == nw.String:
        made = _as_text_of(own, made)
    if _exact_type(made) != _exact_type(own):
        return made
    return own.zip_with(nw.new_series("own", ~cells.imputed, nw.Boolean, backend=library), made)


def _as_text_of(own: Any, made: Any) -> Any:
    """Text of the kind that Arrow has several of."""
    if own.implementation.value != "pyarrow":
        return made
    return nw.from_native(nw.to_native(made).cast(_exact_type(own)), series_only=True)


def _exact_type(series: Any) -> Any:
    """As the library says it: narwhals has one type for decimals of any precision."""
    native = nw.to_native(series)
    return getattr(native, "type", None) or native.dtype


def _series(cells: Cells, dtype: Any, library: Any) -> Any:
    text_like = cells.storage == "unknown" or dtype in (nw.String, nw.Categorical, nw.Enum)
    values = cell_texts(cells) if text_like else cells.values.tolist()
    own: Any = nw.String if text_like else _own_type(cells)
    listed = [None if absent else v for v, absent in zip(values, cells.missing, strict=True)]
    if dtype == nw.Time:
        listed, own = [one if one is None else _time(one) for one in listed], dtype
    series = nw.new_series(cells.name, listed, own, backend=library)
    if dtype is None or series.dtype == dtype:
        return series
    if dtype == nw.Datetime and dtype.time_zone is not None:
        series = series.cast(nw.Datetime("us")).dt.replace_time_zone("UTC")
        return series.dt.convert_time_zone(dtype.time_zone).cast(dtype)
    if dtype == nw.Enum and not {v for v in listed if v is not None} <= set(dtype.categories):
        return series
    return _cast(series, dtype, cells)


def _time(value: Any) -> time:
    """A time of day: of a moment, or of the text that it is read as."""
    return value.time() if isinstance(value, datetime) else time.fromisoformat(value)


def _cast(series: Any, dtype: Any, cells: Cells) -> Any:
    """The template's type where it can hold the values, ours where it cannot."""
    if cells.storage == "text" and dtype.is_numeric():
        return series
    if dtype.is_integer() and cells.storage == "whole" and len(cells):
        least, most = cells.values.min(), cells.values.max()
        bits = 8 * np.dtype(str(dtype).lower()).itemsize
        ends = (
            (0, 2**bits - 1)
            if dtype.is_unsigned_integer()
            else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        if least < ends[0] or most > ends[1]:
            return series
    if dtype in (nw.Unknown, nw.Object):
        return series
    return series.cast(dtype)


def _own_type(cells: Cells) -> Any:
    return {
        "whole": nw.Int64,
        "real": nw.Float64,
        "boolean": nw.Boolean,
        "date": nw.Date,
        "datetime": nw.Datetime("us"),
    }.get(cells.storage, nw.String)
