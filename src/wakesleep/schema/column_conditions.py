"""Conditions on a table's columns: `region=north,age=30..40`, as shares of states.

A condition is a level, several levels `a|b`, a number, a range `30..40`, `..40` or `30..` with both
ends included, dates in the same way, `missing` or `not missing`.
"""

import csv
import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.errors import UsageError
from wakesleep.schema import temporal
from wakesleep.schema.bin_ranges import Range, draw_within, shares
from wakesleep.schema.frame import Cells, Frame, listed, quoted
from wakesleep.schema.levels import LevelColumn
from wakesleep.schema.numbers import NumberColumn
from wakesleep.schema.schema import Schema

Floats = npt.NDArray[np.float64]
Given = str | Mapping[str, Any]
"""`region=north,age=30..40`, or the same by name: a text, a number, a list of levels, a tuple for
the two ends of a range (None for no end), or None for missing."""

LEAST = 1e-12
"""Shares below this are none: nothing can be drawn of them."""


@dataclass(frozen=True, eq=False)
class ColumnCondition:
    """What one column's cells must be.

    Attributes:
        group: the column's number among the modelled ones.
        shares: how much of each state is allowed, from 0 to 1.
        ranges: where numbers must lie; none for levels.
    """

    group: int
    shares: Floats
    ranges: tuple[Range, ...] = ()


def parse_given(schema: Schema, given: Given) -> tuple[ColumnCondition, ...]:
    """Conditions from what a person gives; a `UsageError` says what is wrong with one.

    A condition with a comma in it stands in quotes: `"city=Paris, Texas",age=30`.
    """
    words = _by_name(schema, given)
    found = (_condition(schema, name, alternatives) for name, alternatives in words.items())
    return tuple(one for one in found if one is not None)


def allowed_states(conditions: Sequence[ColumnCondition]) -> dict[int, Floats]:
    """The shares of states by group, as `inference.given` takes them."""
    return {one.group: one.shares for one in conditions}


def decode_given(
    schema: Schema, bits: npt.ArrayLike, rng: int, conditions: Sequence[ColumnCondition]
) -> Frame:
    """Rows of bits as a table, numbers within the ranges; `rng` is a seed."""
    codes = schema.codes(bits)
    generator = np.random.default_rng((rng, 1))
    known = np.full(codes.shape, np.nan)
    ranged: dict[str, Cells] = {}
    for one in conditions:
        column = schema.modelled[one.group]
        if isinstance(column, NumberColumn) and one.ranges:
            state = codes[:, one.group].astype(np.int64)
            values = draw_within(column.bins, state, one.ranges, generator)
            known[:, one.group] = values
            ranged[column.name] = column.cells_of(values, np.zeros(len(values), bool))
    # The row's other numbers are placed beside these.
    frame = schema.decode(bits, rng, known=known)
    return dataclasses.replace(frame, cells=tuple(ranged.get(one.name, one) for one in frame.cells))


def _by_name(schema: Schema, given: Given) -> dict[str, tuple[Any, ...]]:
    """Each column's alternatives: texts, numbers, pairs of ends, or None for missing."""
    if isinstance(given, str):
        return _from_text(schema, given)
    several = (list, set, frozenset, np.ndarray)
    return {
        str(name): tuple(value) if isinstance(value, several) else (value,)
        for name, value in given.items()
    }


def _from_text(schema: Schema, text: str) -> dict[str, tuple[Any, ...]]:
    words: dict[str, tuple[Any, ...]] = {}
    for word in next(csv.reader([text], skipinitialspace=True), []):
        name, equals, value = _name_and_value(schema, word)
        if not (name and equals and value):
            raise UsageError(
                f"--given {quoted(word)}: write it as COLUMN=VALUE, such as age=30..40, and in "
                "quotes where a value has a comma"
            )
        if name in words:
            raise UsageError(
                f"--given has two conditions on {quoted(name)}: join what may be by |, as in a|b"
            )
        whole = value in _levels(schema, name)
        words[name] = (value,) if whole else tuple(part.strip() for part in value.split("|"))
    if not words:
        raise UsageError("--given is empty: write conditions such as region=north,age=30..40")
    return words


def _name_and_value(schema: Schema, word: str) -> tuple[str, str, str]:
    """A condition's two sides and what is between; names may have equals signs of their own."""
    own = (name for name in schema.names if "=" in name and word.startswith(f"{name}="))
    name = max(own, key=len, default=word.partition("=")[0])
    rest = word[len(name) :]
    return name.strip(), rest[:1], rest[1:].strip()


def _levels(schema: Schema, name: str) -> tuple[str, ...]:
    """A column's levels; none where it has none."""
    found = (one for one in schema.modelled if one.name == name)
    return next((one.levels for one in found if isinstance(one, LevelColumn)), ())


def _condition(schema: Schema, name: str, alternatives: tuple[Any, ...]) -> ColumnCondition | None:
    """None for what always holds."""
    if name not in schema.names:
        raise _no_column(schema, name)
    group = schema.names.index(name)
    column = schema.modelled[group]
    if not alternatives:
        raise UsageError(f"the condition on column {quoted(name)} allows nothing")
    words = [one for one in alternatives if isinstance(one, str)]
    known = _levels(schema, name)
    if "not missing" in words and len(alternatives) == 1 and "not missing" not in known:
        if not column.missing_level:
            return None
        return ColumnCondition(group, np.append(np.ones(column.states), 0.0))
    is_missing = [one is None or (one == "missing" and one not in known) for one in alternatives]
    if any(is_missing) and not column.missing_level:
        raise UsageError(
            f"column {quoted(name)} is never missing in the model's rows: train with --missing "
            "level to make missing cells a level"
        )
    rest = [one for one, gone in zip(alternatives, is_missing, strict=True) if not gone]
    ranges: tuple[Range, ...] = ()
    if isinstance(column, NumberColumn):
        ranges = tuple(_range(column, one) for one in rest)
        values = shares(column.bins, ranges) if ranges else np.zeros(column.states)
        if rest and values.max() < LEAST:
            raise UsageError(
                f"column {quoted(name)} has no value in {_shown(rest)}: the training rows have "
                f"{column.detail()}"
            )
        values = np.where(values < LEAST, 0.0, values)
    else:
        assert isinstance(column, LevelColumn)
        values = _level_shares(column, rest)
    if column.missing_level:
        values = np.append(values, float(any(is_missing)))
    return ColumnCondition(group, values, () if any(is_missing) else ranges)


def _no_column(schema: Schema, name: str) -> UsageError:
    other = next((one for one in schema.columns if one.name == name), None)
    if other is not None:
        return UsageError(
            f"column {quoted(name)} is {other.kind} and no part of the model: no condition on it "
            f"can be kept; the model has {listed(schema.names)}"
        )
    near = difflib.get_close_matches(name, schema.names, 1)
    hint = f"did you mean {quoted(near[0])}?" if near else f"it has {listed(schema.names)}"
    return UsageError(f"the model has no column {quoted(name)}; {hint}")


def _level_shares(column: LevelColumn, alternatives: Sequence[Any]) -> Floats:
    values = np.zeros(column.states)
    for one in alternatives:
        ends = _ends(one)
        if column.kind == "ordinal" and ends is not None and str(one) not in column.levels:
            first, last = (_level(column, end) if end else None for end in ends)
            stop = len(column.levels) if last is None else last + 1
            values[0 if first is None else first : stop] = 1
        else:
            values[_level(column, one)] = 1
    if not values.any() and alternatives:
        raise UsageError(
            f"column {quoted(column.name)} has no level in {_shown(alternatives)}: its levels are "
            f"in the order {listed(column.levels)}"
        )
    return values


def _level(column: LevelColumn, word: Any) -> int:
    text = str(word)
    if column.other is not None and text == column.other:
        return len(column.levels)
    state = int(column.states_of([text])[0])
    if state < 0:
        near = difflib.get_close_matches(text, column.levels, 1)
        hint = f"did you mean {quoted(near[0])}?" if near else f"it has {listed(column.levels)}"
        raise UsageError(f"column {quoted(column.name)} has no level {quoted(text)}; {hint}")
    return state


def _ends(value: Any) -> tuple[str, str] | None:
    """The two ends of a range, empty where there is none; None for what is no range."""
    if isinstance(value, tuple) and len(value) == 2:
        low, high = ("" if end is None else str(end) for end in value)
        return low, high
    low, dots, high = str(value).partition("..")
    return (low.strip(), high.strip()) if dots else None


def _range(column: NumberColumn, value: Any) -> Range:
    ends = _ends(value)
    low_text, high_text = ends or (str(value), str(value))
    if not (low_text or high_text):
        raise _no_number(column, value)
    low = _interval(column, low_text, value)[0] if low_text else -np.inf
    high = _interval(column, high_text, value)[1] if high_text else np.inf
    if low > high:
        raise UsageError(
            f"the range {_shown([value])} of column {quoted(column.name)} is empty: its first end "
            "is above its second"
        )
    return Range(low, high)


def _interval(column: NumberColumn, text: str, value: Any) -> tuple[float, float]:
    """A number, or the first and the last unit of a date: of a whole day where no time is given."""
    if column.unit is None:
        try:
            digits = column.affixes.strip(text)
            number = float(digits.replace(",", ".") if column.comma else digits)
        except ValueError:
            raise _no_number(column, value) from None
        if not np.isfinite(number):
            raise _no_number(column, value)
        return number, number
    moment = _moment(column, text)
    if moment is None:
        raise _no_number(column, value)
    first = np.array([np.datetime64(moment, "us")])
    number = float(temporal.to_numbers(first, column.unit)[0])
    units = temporal.UNITS["day"] // temporal.UNITS[column.unit]
    return number, number + (units - 1 if ":" not in text else 0)


def _moment(column: NumberColumn, text: str) -> datetime | None:
    """As the column's moments are written, or in any other way; with its offset from UTC then."""
    pattern = column.pattern or temporal.ISO
    moment = temporal.parse_moment(text, pattern)
    other = None if moment else temporal.find_pattern([text])
    if other is None:
        return moment
    moment = temporal.parse_moment(text, other)
    if moment is None or temporal.has_offset(other):
        return moment
    return moment - temporal.offset_of(pattern)


def _no_number(column: NumberColumn, value: Any) -> UsageError:
    what = "number" if column.unit is None else "date"
    return UsageError(
        f"column {quoted(column.name)} needs a {what} or a range such as LOW..HIGH, not "
        f"{_shown([value])}: the training rows have {column.detail()}"
    )


def _shown(values: Sequence[Any]) -> str:
    ends = (f"{one[0]}..{one[1]}" if isinstance(one, tuple) else str(one) for one in values)
    return quoted("|".join(ends).replace("None", ""))
