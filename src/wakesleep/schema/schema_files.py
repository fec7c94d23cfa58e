"""Schemas as plain JSON values, and the check of those that strangers wrote."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, get_args

import numpy as np

from wakesleep.errors import DataError
from wakesleep.schema.bins import ARRAYS, Bins
from wakesleep.schema.columns import Column, ConstantColumn, LeftOutColumn
from wakesleep.schema.frame import Storage, quoted
from wakesleep.schema.levels import LevelColumn
from wakesleep.schema.numbers import NumberColumn
from wakesleep.schema.schema import Schema
from wakesleep.schema.temporal import UNITS
from wakesleep.schema.within import ARRAYS as WITHIN_ARRAYS
from wakesleep.schema.within import Within

FORMAT = "wakesleep-schema"
VERSION, VERSION_WITHIN = 1, 2
"""The second says where in their bins numbers are, which an earlier release would not know."""

TYPES: dict[str, type[Column]] = {
    "levels": LevelColumn,
    "number": NumberColumn,
    "constant": ConstantColumn,
    "left out": LeftOutColumn,
}


def schema_to_dict(schema: Schema) -> dict[str, Any]:
    """Plain values that `schema_from_dict` takes back."""
    names = {kind: name for name, kind in TYPES.items()}
    columns = [
        {
            "type": names[type(column)],
            "name": column.name,
            "kind": column.kind,
            "missing": column.missing,
            "missing_level": column.missing_level,
            "note": column.note,
            **column.to_dict(),
        }
        for column in schema.columns
    ]
    within = {} if schema.within is None else {"within": schema.within.to_dict()}
    return {
        "format": FORMAT,
        "version": VERSION_WITHIN if within else VERSION,
        **within,
        "rows": schema.rows,
        "notes": list(schema.notes),
        "columns": columns,
    }


def schema_from_dict(values: Any, where: str = "the schema") -> Schema:
    """A schema from plain values; a `DataError` says what is wrong with them."""
    if not isinstance(values, Mapping) or values.get("format") != FORMAT:
        raise DataError(f"{where} is no schema: its format must be {FORMAT!r}")
    if values.get("version") not in (VERSION, VERSION_WITHIN):
        raise DataError(
            f"{where} has version {values.get('version')!r}, but this release reads versions "
            f"{VERSION} and {VERSION_WITHIN}: update wakesleep, or make the schema again"
        )
    reader = _Reader(values, where)
    rows, notes = reader.get("rows", _count), reader.get("notes", _texts)
    columns = tuple(
        _column(one, f"{where}, column {number}")
        for number, one in enumerate(reader.get("columns", _list), 1)
    )
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{where} has two columns called {quoted(name)}")
    if not any(column.states for column in columns):
        raise DataError(f"{where} has no column with levels or bins")
    schema = Schema(columns, rows, notes)
    if "within" not in values:
        return schema
    return dataclasses.replace(schema, within=_within(values["within"], schema, where))


def _within(values: Any, schema: Schema, where: str) -> Within:
    """A Gaussian mixture over number columns of the schema, or why it is none."""
    wrong = DataError(f"{where} does not say where in their bins numbers are ('within')")
    try:
        groups = tuple(int(group) for group in values["groups"])
        arrays = [np.asarray(values[name], np.float64) for name in WITHIN_ARRAYS]
        columns = [schema.modelled[group] for group in groups]
    except (TypeError, ValueError, KeyError, IndexError):
        raise wrong from None
    count, size = (len(arrays[2]) if arrays[2].ndim else 0), len(groups)
    shapes = [(size,), (size,), (count,), (count, size), (count, size, size)]
    if not (
        count
        and size
        and min(groups) >= 0
        and len(set(groups)) == size
        and all(isinstance(column, NumberColumn) for column in columns)
        and [array.shape for array in arrays] == shapes
        and all(np.isfinite(array).all() for array in arrays)
        and (arrays[1] > 0).all()
        and (np.diagonal(arrays[4], axis1=1, axis2=2) > 0).all()
    ):
        raise wrong
    return Within(groups, *arrays)


def _column(values: Any, where: str) -> Column:
    reader = _Reader(values if isinstance(values, Mapping) else {}, where)
    kind = reader.get("type", _one_of(*TYPES))
    common = {
        "name": reader.get("name", _text),
        "kind": reader.get("kind", _text),
        "missing": reader.get("missing", _share),
        "missing_level": reader.get("missing_level", _flag),
        "note": reader.get("note", _text),
    }
    if kind == "levels":
        return _level_column(reader, common)
    if kind == "number":
        return _number_column(reader, common)
    if kind == "constant":
        storage = reader.get("storage", _one_of(*get_args(Storage)))
        return ConstantColumn(value=reader.get("value", _text), storage=storage, **common)
    return LeftOutColumn(**common)


def _level_column(reader: "_Reader", common: dict[str, Any]) -> Column:
    levels = reader.get("levels", _texts)
    column = LevelColumn(
        levels=levels,
        storage=reader.get(
            "storage", _one_of("text", "whole", "real", "boolean", "date", "datetime")
        ),
        other=reader.get("other", _maybe(_text)),
        pooled=reader.get("pooled", _count),
        **_written(reader),
        **common,
    )
    if len(set(levels)) < len(levels) or not levels:
        raise DataError(f"{reader.where}: 'levels' must be texts, each once")
    try:
        column.cells(np.zeros(1, np.int64), np.random.default_rng(0), False)
    except ValueError:
        raise DataError(
            f"{reader.where}: 'levels' must be of the type {column.storage!r}"
        ) from None
    if column.states + column.missing_level < 2:
        raise DataError(f"{reader.where}: 'levels' must be two at least")
    return column


def _number_column(reader: "_Reader", common: dict[str, Any]) -> Column:
    bins = _Reader(reader.get("bins", _mapping), f"{reader.where}, bins")
    return NumberColumn(
        bins=_bins(bins),
        storage=reader.get("storage", _one_of("whole", "real", "date", "datetime")),
        unit=reader.get("unit", _maybe(_one_of(*UNITS))),
        **_written(reader),
        **common,
    )


def _written(reader: "_Reader") -> dict[str, Any]:
    return {
        "decimals": reader.get("decimals", _maybe(_count)),
        "comma": reader.get("comma", _flag),
        "pattern": reader.get("pattern", _maybe(_text)),
    }


def _bins(reader: "_Reader") -> Bins:
    arrays = {name: reader.get(name, _numbers) for name in ARRAYS}
    scales = reader.get("scales", _numbers)
    bins = Bins(
        **arrays,
        scales=(float(scales[0]), float(scales[-1])) if len(scales) == 2 else (0.0, 0.0),
        decimals=reader.get("decimals", _maybe(_count)),
        whole=reader.get("whole", _flag),
    )
    problem = _bins_problem(bins)
    if problem:
        raise DataError(f"{reader.where}: {problem}")
    return bins


def _bins_problem(bins: Bins) -> str | None:
    """What makes densities that do not integrate to one."""
    count = len(bins.lower)
    if not count or any(len(part) != count for part in (bins.upper, bins.left, bins.right)):
        return "'lower', 'upper', 'left' and 'right' must be equally long"
    if len(bins.cuts) != count - 1:
        return "there must be one of 'cuts' fewer than of 'lower'"
    ends = np.stack([bins.lower, bins.upper], 1).ravel()
    if (np.diff(ends) < 0).any() or (np.diff(bins.atoms) <= 0).any():
        return "'lower', 'upper' and 'atoms' must increase"
    if (bins.cuts < bins.upper[:-1]).any() or (bins.cuts > bins.lower[1:]).any():
        return "'cuts' must be between the bins"
    if (bins.left < 0).any() or (bins.right < 0).any() or (bins.left + bins.right >= 1).any():
        return "'left' and 'right' must be shares of less than 1"
    below = np.r_[np.inf, bins.lower[1:] - bins.cuts]
    above = np.r_[bins.cuts - bins.upper[:-1], np.inf]
    if ((bins.left > 0) != (below > 0)).any() or ((bins.right > 0) != (above > 0)).any():
        return "'left' and 'right' must be positive where there is room, and 0 elsewhere"
    if min(bins.scales) <= 0:
        return "'scales' must be two positive numbers"
    return "there must be two bins or atoms at least" if bins.states < 2 else None


class _Reader:
    """Fields of a mapping, each with what it must be."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = values
        self.where = where

    def get(self, name: str, read: Callable[[Any], Any]) -> Any:
        """A field, as `read` makes it; its `ValueError` says what it must be."""
        if name not in self.values:
            raise DataError(f"{self.where} has no {name!r}")
        try:
            return read(self.values[name])
        except ValueError as error:
            raise DataError(
                f"{self.where}: {name!r} must be {error}, not {quoted(str(self.values[name]))}"
            ) from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("a whole number of at least 0")
    return value


def _share(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ValueError("a number from 0 to 1")
    return float(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError("a list")
    return list(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("a table")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise ValueError("a list of texts")
    return tuple(value)


def _numbers(value: Any) -> Any:
    if not isinstance(value, list | tuple) or not all(
        isinstance(one, int | float) and not isinstance(one, bool) for one in value
    ):
        raise ValueError("a list of numbers")
    numbers = np.array(value, np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("a list of finite numbers")
    return numbers


def _maybe(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _one_of(*names: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if value not in names:
            raise ValueError(f"one of {', '.join(names)}")
        return value

    return read
