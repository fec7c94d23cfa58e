"""Schemas as plain JSON values, and the check of those that strangers wrote."""

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from wakesleep.errors import DataError
from wakesleep.schema.affixes import PLAIN, Affixes
from wakesleep.schema.bins import ARRAYS, Bins
from wakesleep.schema.columns import Column, ConstantColumn, LeftOutColumn
from wakesleep.schema.file_fields import (
    Reader,
    a_count,
    a_flag,
    a_list,
    a_mapping,
    a_share,
    a_text,
    maybe,
    numbers,
    one_of,
    texts,
)
from wakesleep.schema.frame import Storage, quoted
from wakesleep.schema.gap_patterns import GapPatterns
from wakesleep.schema.independent import IndependentColumns
from wakesleep.schema.levels import LevelColumn
from wakesleep.schema.numbers import NumberColumn
from wakesleep.schema.powers import Power, is_power
from wakesleep.schema.schema import Schema
from wakesleep.schema.shared_values import ARRAYS as SHARED_ARRAYS
from wakesleep.schema.shared_values import SharedValues
from wakesleep.schema.temporal import UNITS
from wakesleep.schema.typical import TypicalColumns
from wakesleep.schema.within import ARRAYS as WITHIN_ARRAYS
from wakesleep.schema.within import Within

FORMAT = "wakesleep-schema"
VERSION, VERSION_WITHIN, VERSION_POWERS = 1, 2, 3
"""The second says where in their bins numbers are, the third also on what scales, which an earlier
release would not know."""

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
    parts = {"within": schema.within, "typical": schema.typical, "gaps": schema.gaps}
    markers = {} if schema.markers is None else {"missing_markers": list(schema.markers)}
    return {
        "format": FORMAT,
        "version": _version(schema.within),
        **{name: part.to_dict() for name, part in parts.items() if part is not None},
        **markers,
        "rows": schema.rows,
        "notes": list(schema.notes),
        "columns": columns,
    }


def _version(within: Within | None) -> int:
    """The first that knows what is written."""
    if within is None:
        return VERSION
    return VERSION_WITHIN if within.is_plain else VERSION_POWERS


def schema_from_dict(values: Any, where: str = "the schema") -> Schema:
    """A schema from plain values; a `DataError` says what is wrong with them."""
    if not isinstance(values, Mapping) or values.get("format") != FORMAT:
        raise DataError(f"{where} is no schema: its format must be {FORMAT!r}")
    if values.get("version") not in (VERSION, VERSION_WITHIN, VERSION_POWERS):
        raise DataError(
            f"{where} has version {values.get('version')!r}, but this release reads versions "
            f"{VERSION} to {VERSION_POWERS}: update wakesleep, or make the schema again"
        )
    reader = Reader(values, where)
    rows, notes = reader.get("rows", a_count), reader.get("notes", texts)
    columns = tuple(
        _column(one, f"{where}, column {number}")
        for number, one in enumerate(reader.get("columns", a_list), 1)
    )
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{where} has two columns called {quoted(name)}")
    if not any(column.states for column in columns):
        raise DataError(f"{where} has no column with levels or bins")
    schema = Schema(columns, rows, notes)
    # Earlier releases do without the first, and wrote nothing of the others.
    if "within" in values:
        schema = dataclasses.replace(schema, within=_within(values["within"], schema, where))
    if "typical" in values:
        schema = dataclasses.replace(schema, typical=_typical(values["typical"], schema, where))
    if "missing_markers" in values:
        schema = dataclasses.replace(schema, markers=reader.get("missing_markers", texts))
    if "gaps" in values:
        schema = dataclasses.replace(schema, gaps=_gaps(values["gaps"], schema, where))
    return schema


def _gaps(values: Any, schema: Schema, where: str) -> GapPatterns:
    try:
        return GapPatterns.from_dict(values, len(schema.modelled))
    except ValueError:
        raise DataError(f"{where} does not say which cells are missing together ('gaps')") from None


def _typical(values: Any, schema: Schema, where: str) -> TypicalColumns:
    """Bins and frequencies for the columns of the schema, or why they are none."""
    wrong = DataError(f"{where} does not say what typical columns are ('typical')")
    try:
        columns = IndependentColumns.from_lists(values["columns"], where)
        readers = [None if one is None else Reader(one, where) for one in values["bins"]]
    except (TypeError, KeyError):
        raise wrong from None
    bins = tuple(None if reader is None else _bins(reader) for reader in readers)
    states = [
        column.missing_level + (column.states if own is None else own.states)
        for column, own in zip(schema.modelled, bins, strict=False)
    ]
    tables = columns.log_probabilities
    if not (
        len(bins) == len(tables) == len(schema.modelled)
        and [table.shape for table in tables] == [(count,) for count in states]
        and all(np.isfinite(table).all() for table in tables)
        and all(
            isinstance(column, NumberColumn) == (own is not None)
            for column, own in zip(schema.modelled, bins, strict=True)
        )
    ):
        raise wrong
    return TypicalColumns(bins, columns)


def _within(values: Any, schema: Schema, where: str) -> Within:
    """A Gaussian mixture over number columns of the schema, or why it is none."""
    wrong = DataError(f"{where} does not say where in their bins numbers are ('within')")
    try:
        groups = tuple(int(group) for group in values["groups"])
        arrays = [np.asarray(values[name], np.float64) for name in WITHIN_ARRAYS]
        columns = [schema.modelled[group] for group in groups]
        # An earlier release knew no powers.
        plain = [Power()] * len(groups)
        powers = tuple(Power(*map(float, one)) for one in values.get("powers", plain))
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
        and len(powers) == size
        and all(map(is_power, powers))
        and (np.diagonal(arrays[4], axis1=1, axis2=2) > 0).all()
    ):
        raise wrong
    return Within(groups, powers, *arrays)


def _column(values: Any, where: str) -> Column:
    reader = Reader(values if isinstance(values, Mapping) else {}, where)
    kind = reader.get("type", one_of(*TYPES))
    common = {
        "name": reader.get("name", a_text),
        "kind": reader.get("kind", a_text),
        "missing": reader.get("missing", a_share),
        "missing_level": reader.get("missing_level", a_flag),
        "note": reader.get("note", a_text),
    }
    if kind == "levels":
        return _level_column(reader, common)
    if kind == "number":
        return _number_column(reader, common)
    if kind == "constant":
        storage = reader.get("storage", one_of(*get_args(Storage)))
        return ConstantColumn(value=reader.get("value", a_text), storage=storage, **common)
    return LeftOutColumn(**common)


def _level_column(reader: Reader, common: dict[str, Any]) -> Column:
    levels = reader.get("levels", texts)
    column = LevelColumn(
        levels=levels,
        storage=reader.get(
            "storage", one_of("text", "whole", "real", "boolean", "date", "datetime")
        ),
        other=reader.get("other", maybe(a_text)),
        pooled=reader.get("pooled", a_count),
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


def _number_column(reader: Reader, common: dict[str, Any]) -> Column:
    bins = _bins(Reader(reader.get("bins", a_mapping), f"{reader.where}, bins"))
    return NumberColumn(
        bins=bins,
        shared=_shared(reader, bins),
        storage=reader.get("storage", one_of("whole", "real", "date", "datetime")),
        unit=reader.get("unit", maybe(one_of(*UNITS))),
        affixes=_affixes(reader),
        **_written(reader),
        **common,
    )


def _affixes(reader: Reader) -> Affixes:
    try:
        return Affixes.from_dict(reader.values["affixes"]) if "affixes" in reader.values else PLAIN
    except ValueError:
        raise DataError(
            f"{reader.where} does not say how numbers are written ('affixes')"
        ) from None


def _shared(reader: Reader, bins: Bins) -> SharedValues | None:
    """Earlier releases wrote none."""
    if "shared" not in reader.values:
        return None
    fields = Reader(reader.get("shared", a_mapping), f"{reader.where}, shared")
    shared = SharedValues(*(fields.get(name, numbers) for name in SHARED_ARRAYS))
    problem = shared.problem(bins)
    if problem:
        raise DataError(f"{fields.where}: {problem}")
    return shared


def _written(reader: Reader) -> dict[str, Any]:
    return {
        "decimals": reader.get("decimals", maybe(a_count)),
        "comma": reader.get("comma", a_flag),
        "pattern": reader.get("pattern", maybe(a_text)),
    }


def _bins(reader: Reader) -> Bins:
    arrays = {name: reader.get(name, numbers) for name in ARRAYS}
    scales = reader.get("scales", numbers)
    bins = Bins(
        **arrays,
        scales=(float(scales[0]), float(scales[-1])) if len(scales) == 2 else (0.0, 0.0),
        decimals=reader.get("decimals", maybe(a_count)),
        whole=reader.get("whole", a_flag),
    )
    problem = bins.problem()
    if problem:
        raise DataError(f"{reader.where}: {problem}")
    return bins
