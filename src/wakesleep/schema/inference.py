"""What the columns of a table are, by looking at the training rows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wakesleep.errors import DataError, UsageError
from wakesleep.schema import temporal
from wakesleep.schema.columns import Column
from wakesleep.schema.date_columns import date_column, not_dates
from wakesleep.schema.encoded import Encoded, group_size
from wakesleep.schema.frame import Frame, listed, quoted
from wakesleep.schema.gap_patterns import GapPatterns
from wakesleep.schema.levels import LevelColumn
from wakesleep.schema.numbers import NumberColumn
from wakesleep.schema.overrides import (
    Choices,
    ColumnChoice,
    as_choices,
    check_names,
    column_option,
)
from wakesleep.schema.reading import read_frame
from wakesleep.schema.schema import Schema
from wakesleep.schema.schema_options import SchemaOptions
from wakesleep.schema.shared_values import SharedValues
from wakesleep.schema.subject import (
    Subject,
    are_digits,
    constant,
    is_beyond_floats,
    left_out,
    level_column,
    not_numeric,
    numeric_column,
    words_among_numbers,
)
from wakesleep.schema.text_tables import ONE_COLUMN
from wakesleep.schema.typical import TypicalColumns
from wakesleep.schema.values import Moments, are_codes
from wakesleep.schema.within_fit import with_numbers_placed

STRAY_SHARE = 0.05
"""At most this share of the cells are words if a column is one of numbers with strays."""
STRAY_NUMBERS = 3
"""The fewest distinct numbers that make it one."""
ALL_DISTINCT_ROWS = 5
"""From so many rows on, texts that are all distinct are names of the rows."""
MOSTLY_DISTINCT_ROWS = 20
"""From so many rows on, texts of which more than half are distinct are no levels."""
RUNNING_ROWS = 10
"""From so many rows on, distinct whole numbers without large gaps are a running number."""
TYPICAL_ROWS = 20_000
"""The most training rows that say what typical columns, gaps and shared numbers are, evenly
spaced."""

_ID_NAME = re.compile(
    r"(?i:(.*[\W_])?(id|uuid|guid|key|index|row|row_?names?)|unnamed.*|)|.*[a-z]I[dD]"
)
_UUID = re.compile(r"\{?[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\}?")
_KEEP = "no part of the model"


def infer_schema(
    table: Any,
    overrides: Mapping[str, Any] | Sequence[str] | None = None,
    options: SchemaOptions | None = None,
) -> Schema:
    """Make a schema of the training rows.

    Args:
        table: whatever `read_frame` takes: training rows alone, so that what is held out stays
            unseen.
        overrides: what columns are where the data would mislead: `{"age": "numeric", "grade":
            {"kind": "ordinal", "levels": ["low", "high"]}}`, or words such as "age=numeric".
        options: limits, and what missing cells are.

    >>> schema = infer_schema({"answer": ["yes", "no", "no"], "size": [1.5, 2.5, 4.0]})
    >>> [(column.name, column.kind) for column in schema.columns]
    [('answer', 'binary'), ('size', 'numeric')]
    """
    frame, options = read_frame(table), options or SchemaOptions()
    if len(frame) < 2:
        raise DataError(
            f"{frame.source} has one row only: a model needs at least two to learn from"
        )
    choices = as_choices(overrides)
    check_names(choices, frame.names, frame.source)
    columns = [_column(frame, name, choices, options) for name in frame.names]
    columns, notes = _within_budget(columns, frame, choices, options)
    if not any(column.states for column in columns):
        raise _nothing_to_model(columns, frame)
    pooled = [_pooling(column) for column in columns if _pooling(column)]
    notes = [*frame.notes, *notes, *pooled]
    schema = Schema(tuple(columns), len(frame), tuple(notes), markers=frame.markers)
    some = np.unique(np.linspace(0, len(frame) - 1, min(TYPICAL_ROWS, len(frame))).astype(int))
    encoded = schema.encode(frame.take(some))
    typical = TypicalColumns.fit(schema.modelled, encoded)
    schema = replace(schema, typical=typical, gaps=GapPatterns.fit(encoded))
    if options.within != "uniform":
        asked = options.bins or any(choice.bins for choice in choices.values())
        schema = with_numbers_placed(schema, frame, may_join=not asked)
    return _with_shared_values(schema, encoded)


def _with_shared_values(schema: Schema, rows: Encoded) -> Schema:
    """Made last: where in its bin a number is depends on the bins."""
    numbers = dict(zip(schema.names, rows.within.T, strict=True))
    columns = tuple(
        replace(column, shared=SharedValues.fit(column.bins, numbers[column.name]))
        if isinstance(column, NumberColumn)
        else column
        for column in schema.columns
    )
    return replace(schema, columns=columns)


def _nothing_to_model(columns: Sequence[Column], frame: Frame) -> DataError:
    reasons = listed([f"{column.name}: {column.kind}" for column in columns])
    usable = (one.name for one in columns if one.kind in ("identifier", "text", "dropped"))
    name = next(usable, None)
    way = "give it one that has two values or more"
    if name is not None:
        way = f"say what one is, such as {column_option(name, 'categorical')}"
    if ONE_COLUMN in frame.notes:
        way = f"{ONE_COLUMN.partition(': ')[2]}, or {way}"
    return DataError(
        f"{frame.source} has no column that a model could be made of ({reasons}): {way}"
    )


def _column(
    frame: Frame, name: str, choices: Choices, options: SchemaOptions, limit: int | None = None
) -> Column:
    choice = choices.get(name, ColumnChoice())
    subject = Subject(frame, frame[name], choice, options, limit)
    if choice.kind is None:
        return _by_looking(subject)
    return _by_choice(subject, choice.kind)


def _by_choice(subject: Subject, kind: str) -> Column:
    """What a person said, or one sentence why it cannot be."""
    if kind == "drop":
        return left_out(subject, "dropped", _KEEP)
    if subject.cells.storage == "unknown":
        raise UsageError(
            f"{subject.choice.where}: column {quoted(subject.name)} of {subject.frame.source} "
            f"cannot be used, since {subject.cells.problem}: convert it, or drop it"
        )
    if not subject.observed:
        raise UsageError(
            f"{subject.choice.where}: column {quoted(subject.name)} of {subject.frame.source} has "
            "no value in any row: take the setting out, and the column is left out"
        )
    if kind == "numeric":
        return numeric_column(subject)
    if kind == "date":
        return date_column(subject)
    count = len(subject.these.values)
    if kind == "binary" and count > 2:
        raise UsageError(
            f"{subject.choice.where}: column {quoted(subject.name)} of {subject.frame.source} has "
            f"{count} levels, not two: use {column_option(subject.name, 'categorical')}"
        )
    if count == 1 and subject.choice.levels is None:
        return constant(subject)
    return level_column(subject, kind)


def _by_looking(subject: Subject) -> Column:
    """The kind that the values speak for."""
    if subject.cells.storage == "unknown" and not subject.cells.missing.all():
        return left_out(subject, "unsupported", f"left out: {subject.cells.problem}")
    if subject.cells.missing.all():
        return left_out(subject, "empty", "left out: no row has a value")
    if subject.cells.ordered and len(subject.cells.levels or ()) > 1:
        return level_column(subject, "ordinal")
    count = len(subject.these.values)
    if count == 1:
        return constant(subject)
    if count == 2:
        return level_column(subject, "binary")
    if subject.cells.levels is not None:
        return level_column(subject, "categorical")
    return _of_many_values(subject)


def _of_many_values(subject: Subject) -> Column:
    with_signs = not subject.numbers.affixes.is_plain
    if with_signs and subject.moments is not None:
        return date_column(subject)
    if not are_codes(subject.these) and not subject.numbers.wrong:
        if not with_signs and _is_running(subject):
            return left_out(
                subject, "identifier", _way_back(subject, "a running number", "numeric")
            )
        if is_beyond_floats(subject):
            what = "whole numbers of more digits than a number column keeps apart"
            return left_out(subject, "identifier", _way_back(subject, what, "categorical"))
        return numeric_column(subject)
    if subject.moments is not None:
        return date_column(subject)
    _refuse_strays(subject)
    share = len(subject.these.values) / subject.observed
    if _all_match(subject, _UUID) and share > 0.5:
        return left_out(subject, "identifier", _way_back(subject, "an identifier", "categorical"))
    if share == 1.0 and subject.observed >= ALL_DISTINCT_ROWS:
        words = np.mean([text.count(" ") + 1 for text in subject.these.values])
        kind = "identifier" if words < 4 else "text"
        what = "another value in every row"
        return left_out(subject, kind, _way_back(subject, what, "categorical"))
    if share > 0.5 and subject.observed >= MOSTLY_DISTINCT_ROWS:
        what = f"{len(subject.these.values)} values in {subject.observed} rows"
        return left_out(subject, "text", _way_back(subject, what, "categorical"))
    return level_column(subject, "categorical")


def _way_back(subject: Subject, what: str, kind: str) -> str:
    out = words_among_numbers(subject) or f"{column_option(subject.name, kind)} keeps it"
    return f"left out: {what}; {out}"


def _is_running(subject: Subject) -> bool:
    """Whole numbers, each once, that fill at least half of their range or are called an id."""
    rows, values = subject.observed, subject.numbers.values
    if len(values) < rows or not (subject.numbers.whole or are_digits(subject)):
        return False
    dense = rows >= RUNNING_ROWS and values.max() - values.min() < 2 * rows
    return bool(dense or (rows >= ALL_DISTINCT_ROWS and _ID_NAME.fullmatch(subject.name)))


def _all_match(subject: Subject, shape: re.Pattern[str]) -> bool:
    return all(map(shape.fullmatch, subject.these.values.tolist()))


def _refuse_strays(subject: Subject) -> None:
    """An error where nearly all cells are numbers, or dates, and a few are words."""
    most = max(1, STRAY_SHARE * subject.observed)
    counts, wrong = subject.these.counts, subject.numbers.wrong
    enough = len(counts) - len(wrong) >= STRAY_NUMBERS
    if enough and counts[wrong].sum() <= most and not are_codes(subject.these):
        raise not_numeric(subject)
    texts = subject.these.values.tolist()
    for pattern in temporal.PATTERNS:
        if not any(temporal.parse_moment(text, pattern) for text in texts[:3]):
            continue
        values = temporal.parse_moments(texts, pattern)
        bad = np.flatnonzero(np.isnat(values)).tolist()
        if len(texts) - len(bad) >= STRAY_NUMBERS and counts[bad].sum() <= most:
            raise not_dates(subject, Moments(values, bad, pattern))


def _within_budget(
    columns: list[Column], frame: Frame, choices: Choices, options: SchemaOptions
) -> tuple[list[Column], list[str]]:
    """Columns of at most so many states that all together keep to the limit of units."""
    sizes = [column.states + column.missing_level for column in columns if column.states]
    if sum(map(group_size, sizes)) <= options.max_units:
        return columns, []
    if len(sizes) > options.max_units:
        raise UsageError(
            f"{frame.source} has {len(sizes)} columns for a model, more than max_units = "
            f"{options.max_units} allows: raise it, or drop columns"
        )
    limit = max(
        cap
        for cap in range(2, max(sizes) + 1)
        if cap == 2 or sum(group_size(min(size, cap)) for size in sizes) <= options.max_units
    )
    smaller = [
        _column(frame, column.name, choices, options, limit)
        if column.states + column.missing_level > limit
        else column
        for column in columns
    ]
    note = (
        f"columns have at most {limit} levels or bins each, so that all together keep to "
        f"max_units = {options.max_units}"
    )
    return smaller, [note]


def _pooling(column: Column) -> str:
    if not isinstance(column, LevelColumn) or not column.pooled:
        return ""
    return (
        f"column {quoted(column.name)}: {column.pooled} rare levels are pooled into "
        f"{column.other!r}, {len(column.levels)} are kept"
    )
