"""Columns of dates and times that can be made of a column under examination."""

from wakesleep.errors import DataError
from wakesleep.schema import temporal
from wakesleep.schema.binning import Grid
from wakesleep.schema.columns import Column
from wakesleep.schema.frame import quoted
from wakesleep.schema.numbers import NumberColumn
from wakesleep.schema.overrides import column_option
from wakesleep.schema.subject import Subject, bins_of, constant
from wakesleep.schema.values import Moments


def date_column(subject: Subject) -> Column:
    """A column of dates, or of moments."""
    moments = subject.moments
    if moments is None or moments.wrong:
        raise not_dates(subject, moments)
    if len(subject.these.values) == 1:
        return constant(subject)
    unit = temporal.coarsest_unit(moments.values)
    numbers = temporal.to_numbers(moments.values, unit)
    timed = any(mark in (moments.pattern or "") for mark in ("%H", "%I", temporal.ISO))
    is_date = subject.these.storage == "date" or (moments.pattern is not None and not timed)
    return NumberColumn(
        subject.name,
        "date",
        bins_of(subject, numbers, Grid(0, whole=True)),
        "date" if is_date else "datetime",
        unit,
        pattern=moments.pattern,
        missing=subject.missing,
        missing_level=subject.missing_level,
        note=_ambiguous(subject, moments),
    )


def _ambiguous(subject: Subject, moments: Moments) -> str:
    if moments.pattern is None or subject.choice.format is not None:
        return ""
    if not temporal.is_ambiguous(subject.these.values.tolist(), moments.pattern):
        return ""
    first = column_option(subject.name, f"date:{temporal.SWAPPED[moments.pattern]}")
    return f"read as month/day/year; if the day comes first, use {first}"


def not_dates(subject: Subject, moments: Moments | None) -> DataError:
    """The error for what is no date."""
    wrong = [0] if moments is None else moments.wrong
    position = subject.first(wrong)
    how = f"written as {moments.pattern}" if moments else "in any way of writing that is known"
    return DataError(
        f"{subject.place(position)}: {quoted(subject.text(position))} is no date {how}: "
        f"correct it, leave the cell empty, give the way dates are written "
        f"({column_option(subject.name, 'date:%d.%m.%Y')}), or use "
        f"{column_option(subject.name, 'categorical')}"
    )
