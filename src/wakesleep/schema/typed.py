"""Columns of text as what they say: numbers and dates, for files whose columns have types."""

import dataclasses

import numpy as np

from wakesleep.schema.columns import Column
from wakesleep.schema.frame import Cells, Frame
from wakesleep.schema.levels import LevelColumn
from wakesleep.schema.numbers import NumberColumn
from wakesleep.schema.schema import Schema
from wakesleep.schema.values import Numbers, as_moments, as_numbers, distinct


def typed(frame: Frame, schema: Schema) -> Frame:
    """The same cells, those of columns that the schema knows as numbers or dates of that type.

    A column in which some cell is neither stays text.
    """
    known = {column.name: column for column in schema.columns}
    cells = tuple(
        _typed(one, known[one.name], frame.comma)
        if one.storage == "text" and one.name in known
        else one
        for one in frame.cells
    )
    return dataclasses.replace(frame, cells=cells)


def _typed(cells: Cells, column: Column, comma: bool) -> Cells:
    if isinstance(column, NumberColumn) and column.unit is not None:
        return _as_moments(cells, column)
    if isinstance(column, NumberColumn) or (
        isinstance(column, LevelColumn) and column.storage in ("whole", "real")
    ):
        return _as_numbers(cells, comma)
    return cells


def _as_numbers(cells: Cells, comma: bool) -> Cells:
    these = distinct(cells)
    numbers: Numbers = as_numbers(these, comma)
    if numbers.wrong or not len(these.values):
        return cells
    values = these.spread(numbers.values, 0.0)
    if numbers.whole:
        return Cells(cells.name, "whole", np.rint(values).astype(np.int64), cells.missing)
    return Cells(cells.name, "real", values, cells.missing)


def _as_moments(cells: Cells, column: NumberColumn) -> Cells:
    these = distinct(cells)
    moments = as_moments(these, column.pattern)
    if moments is None or moments.wrong:
        moments = as_moments(these)
    # A time of day is none of a date.
    if moments is None or moments.wrong or "%Y" not in (column.pattern or "%Y").upper():
        return cells
    values = these.spread(moments.values, np.datetime64(0, "us"))
    if column.storage == "date" and (values == values.astype("datetime64[D]")).all():
        return Cells(cells.name, "date", values.astype("datetime64[D]"), cells.missing)
    return Cells(cells.name, "datetime", values, cells.missing)
