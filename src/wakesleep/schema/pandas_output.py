"""pandas frames out: the types of a template, and its index."""

from typing import Any

import numpy as np

from wakesleep.schema.frame import Cells, Frame, Origin, object_array
from wakesleep.schema.values import cell_texts

_NULLABLE = {"whole": "Int64", "boolean": "boolean"}


def pandas_frame(frame: Frame, origin: Origin) -> Any:
    """A pandas frame; columns that the template does not have get types of their own."""
    import pandas as pd

    index = origin.index if origin.index is not None and len(origin.index) == len(frame) else None
    known = {} if origin.template is None else origin.template.dtypes.to_dict()
    series = {cells.name: _own_or_made(cells, known.get(cells.name), pd) for cells in frame.cells}
    out = pd.DataFrame(series)
    if index is not None:
        out.index = index
    return out


def _own_or_made(cells: Cells, dtype: Any, pd: Any) -> Any:
    """The frame's own column, with what was imputed; one that is made of the cells elsewhere."""
    own = None if cells.native is None else cells.native.to_native()
    if not isinstance(own, pd.Series):
        return _series(cells, dtype, pd)
    own = own.reset_index(drop=True)
    if cells.imputed is None or not cells.imputed.any():
        return own
    made = _series(cells, dtype, pd)
    if made.dtype != own.dtype:
        return made
    if own.dtype == object:
        # Numbers among words are levels by name, but numbers they were.
        objects = {str(value): value for value in own[~cells.missing & ~cells.imputed]}
        made = made.map(lambda name: objects.get(name, name))
    return own.mask(cells.imputed, made)


def _series(cells: Cells, dtype: Any, pd: Any) -> Any:
    own = _own_series(cells, pd)
    if dtype is None or own.dtype == dtype:
        return own
    if isinstance(dtype, pd.CategoricalDtype):
        return _categorical(cells, dtype, pd)
    if pd.api.types.is_object_dtype(dtype):
        return pd.Series(_objects(cells, own), dtype=dtype)
    if pd.api.types.is_string_dtype(dtype):
        return pd.Series(_texts(cells), dtype=dtype)
    if isinstance(dtype, pd.DatetimeTZDtype) and cells.storage in ("date", "datetime"):
        return own.dt.tz_localize("UTC").astype(dtype)
    return _cast(own, dtype, pd)


def _texts(cells: Cells) -> Any:
    texts = object_array(cell_texts(cells))
    texts[cells.missing] = None
    return texts


def _objects(cells: Cells, own: Any) -> Any:
    """Python's own objects: texts, dates that were written in some way among them, and days."""
    if cells.storage == "text" or cells.pattern is not None or not cells.affixes.is_plain:
        return _texts(cells)
    # pandas has moments for days, and NA for None.
    objects = cells.values.astype(object) if cells.storage == "date" else own.astype(object)
    return [None if gap else one for one, gap in zip(objects, cells.missing, strict=True)]


def _cast(own: Any, dtype: Any, pd: Any) -> Any:
    """The template's type where it can hold the values, ours where it cannot."""
    if pd.api.types.is_integer_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        if own.isna().any() and not pd.api.types.is_extension_array_dtype(dtype):
            return own  # of a type that has missing values
        if pd.api.types.is_float_dtype(own.dtype):
            own = own.round()
    try:
        cast = own.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return own
    if pd.api.types.is_integer_dtype(dtype) and not (cast == own).all():
        return own  # out of the range of a short type
    return cast


def _own_series(cells: Cells, pd: Any) -> Any:
    values, missing = cells.values, cells.missing
    if cells.storage in _NULLABLE and missing.any():
        objects = values.astype(object)
        objects[missing] = None
        return pd.Series(pd.array(objects, dtype=_NULLABLE[cells.storage]))
    if cells.storage == "real":
        return pd.Series(np.where(missing, np.nan, values))
    if cells.storage in ("date", "datetime"):
        moments = values.astype("datetime64[us]")
        return pd.Series(np.where(missing, np.datetime64("NaT"), moments))
    if cells.storage in ("text", "unknown"):
        texts = values.astype(object)
        texts[missing] = None
        return pd.Series(texts, dtype="str" if cells.storage == "text" else object)
    return pd.Series(values)


def _categorical(cells: Cells, dtype: Any, pd: Any) -> Any:
    names = {str(category): category for category in dtype.categories}
    texts = [
        None if absent else names.get(text, text)
        for text, absent in zip(cell_texts(cells), cells.missing, strict=True)
    ]
    new = sorted({text for text in texts if text is not None and str(text) not in names})
    categories = [*dtype.categories, *new]
    return pd.Series(pd.Categorical(texts, categories=categories, ordered=dtype.ordered))
