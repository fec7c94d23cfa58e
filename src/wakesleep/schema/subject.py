"""A column under examination, and the columns of a schema that can be made of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wakesleep.errors import DataError, UsageError
from wakesleep.schema.binning import Grid, make_bins
from wakesleep.schema.bins import Bins
from wakesleep.schema.columns import Column, ConstantColumn, LeftOutColumn
from wakesleep.schema.frame import Cells, Frame, Storage, listed, quoted
from wakesleep.schema.levels import OTHER, LevelColumn
from wakesleep.schema.markers import markers_option
from wakesleep.schema.numbers import NumberColumn
from wakesleep.schema.overrides import ColumnChoice, column_option
from wakesleep.schema.schema_options import SchemaOptions
from wakesleep.schema.values import (
    EXACT,
    Distinct,
    Floats,
    Moments,
    Numbers,
    are_codes,
    as_moments,
    as_numbers,
    distinct,
    value_texts,
)

FEW_WORDS, MANY_NUMBERS = 2, 10
"""A column with so few words, and so many numbers that differ, is one of numbers with a sign for
missing cells, most likely."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A column of the training rows, what a person said of it, and how large it may become.

    Attributes:
        frame: the table.
        cells: the column.
        choice: what a person said it is.
        options: what holds for all columns.
        limit: the most states, that of missing-ness included; None without a limit.
    """

    frame: Frame
    cells: Cells
    choice: ColumnChoice
    options: SchemaOptions
    limit: int | None = None

    @cached_property
    def these(self) -> Distinct:
        """The distinct values."""
        return distinct(self.cells, frozenset(self.choice.levels or ()))

    @cached_property
    def numbers(self) -> Numbers:
        """Them as numbers, as far as they are."""
        return as_numbers(self.these, self.frame.comma)

    @cached_property
    def moments(self) -> Moments | None:
        """Them as dates or times."""
        return as_moments(self.these, self.choice.format)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.cells.name

    @property
    def observed(self) -> int:
        """How many rows have a value."""
        return int((self.these.codes >= 0).sum())

    @property
    def missing(self) -> float:
        """The share of rows without one."""
        return 1.0 - self.observed / len(self.cells)

    @property
    def missing_level(self) -> bool:
        """Whether missing-ness shall be a state."""
        wanted = self.choice.missing or self.options.missing
        return wanted == "level" and self.observed < len(self.cells)

    @property
    def most_states(self) -> int | None:
        """The limit on the states of values."""
        return None if self.limit is None else max(2, self.limit - self.missing_level)

    def place(self, position: int) -> str:
        """Where the first cell with a distinct value is."""
        return self.frame.place(self.these.first_row(position), self.name)

    def text(self, position: int) -> str:
        """A distinct value by name."""
        return value_texts(self.these.storage, self.these.values[position : position + 1])[0]

    def first(self, positions: Sequence[int]) -> int:
        """Of some distinct values, the one that is met first."""
        return min(positions, key=self.these.first_row)


def left_out(subject: Subject, kind: str, note: str) -> Column:
    """No part of the model."""
    return LeftOutColumn(subject.name, kind, subject.missing, note)


def constant(subject: Subject) -> Column:
    """One value; with missing-ness for a level, a column of two states."""
    if subject.missing_level:
        return level_column(subject, "binary")
    storage: Storage = subject.these.storage
    return ConstantColumn(subject.name, subject.text(0), storage, subject.missing)


def level_column(subject: Subject, kind: str) -> Column:
    """A column of levels, given ones or those of the training rows."""
    storage, texts = _levels_seen(subject)
    given = subject.choice.levels or (subject.cells.levels if kind == "ordinal" else None)
    if given is not None:
        _check_given(subject, given, texts)
    levels = tuple(texts) if given is None else given
    most = subject.most_states
    if given is None:
        most = min(subject.options.max_levels, most or subject.options.max_levels)
    kept, other = _pooled(subject, levels, texts, most)
    numbers = subject.numbers if subject.these.storage == "text" and storage != "text" else None
    return LevelColumn(
        subject.name,
        kind,
        kept,
        storage,
        other,
        len(levels) - len(kept),
        numbers.spelled if numbers else None,
        numbers.comma if numbers else False,
        missing=subject.missing,
        missing_level=subject.missing_level,
        note=words_among_numbers(subject) or _spelled_alike(levels),
    )


def _spelled_alike(levels: Sequence[str]) -> str:
    """A note on two levels that may be one."""
    first: dict[str, str] = {}
    for level in levels:
        other = first.setdefault(" ".join(level.casefold().split()), level)
        if other != level:
            return f"{quoted(other)} and {quoted(level)} are two levels: write them alike if not"
    return ""


def words_among_numbers(subject: Subject) -> str:
    """What to do about a word or two in a column of numbers; nothing for any other column."""
    wrong = subject.numbers.wrong
    numbers = len(subject.these.values) - len(wrong)
    if not 1 <= len(wrong) <= FEW_WORDS or numbers < MANY_NUMBERS or are_codes(subject.these):
        return ""
    words = [subject.text(position) for position in wrong]
    return f"numbers but for {listed(words)}: {markers_option(words)} would make it numeric"


def is_beyond_floats(subject: Subject) -> bool:
    """Whether they are whole numbers, some of more digits than a number column keeps apart."""
    return are_digits(subject) and bool((np.abs(subject.numbers.values) >= EXACT).any())


def are_digits(subject: Subject) -> bool:
    """Whether they are whole numbers of any length, beyond what a float can hold too."""
    texts = subject.numbers.texts or [""]
    return subject.these.storage == "whole" or all(text.lstrip("-+").isdigit() for text in texts)


def _levels_seen(subject: Subject) -> tuple[Storage, list[str]]:
    """The levels of the training rows in an order that is theirs, not the file's."""
    these, storage = subject.these, subject.these.storage
    texts = value_texts(storage, these.values)
    if storage != "text":
        return storage, texts  # np.unique has sorted them
    numbers = subject.numbers
    is_text = subject.cells.levels is not None or are_codes(these) or bool(numbers.wrong)
    is_text = is_text or is_beyond_floats(subject)
    if is_text or not numbers.affixes.is_plain or len(set(numbers.values.tolist())) < len(texts):
        return "text", sorted(texts)
    order = np.argsort(numbers.values, kind="stable")
    return ("whole" if numbers.whole else "real"), [texts[i] for i in order]


def _check_given(subject: Subject, given: tuple[str, ...], texts: list[str]) -> None:
    strange = set(texts) - set(given)
    if strange:
        names = value_texts(subject.these.storage, subject.these.values)
        position = subject.first([i for i, name in enumerate(names) if name in strange])
        raise UsageError(
            f"{subject.place(position)}: {quoted(names[position])} is none of the levels "
            f"{listed(given)} that {subject.choice.where or 'the column'} gives: add it, or "
            "correct the cell"
        )


def _pooled(
    subject: Subject, levels: tuple[str, ...], texts: list[str], most: int | None
) -> tuple[tuple[str, ...], str | None]:
    """The levels to keep, and the name for the others where some are not kept."""
    if most is None or len(levels) <= most:
        return levels, None
    names = value_texts(subject.these.storage, subject.these.values)
    counts = dict(zip(names, subject.these.counts.tolist(), strict=True))
    ranked = sorted(levels, key=lambda level: (-counts.get(level, 0), levels.index(level)))
    kept = set(ranked[: most - 1])
    other = OTHER
    while other in kept:
        other = f"{other} (pooled)"
    return tuple(level for level in levels if level in kept), other


def numeric_column(subject: Subject) -> Column:
    """A column of numbers."""
    numbers = subject.numbers
    if numbers.wrong:
        raise not_numeric(subject)
    if len(np.unique(numbers.values)) == 1:
        if len(subject.these.values) > 1 and is_beyond_floats(subject):
            raise UsageError(
                f"{subject.choice.where}: the whole numbers of column {quoted(subject.name)} of "
                f"{subject.frame.source} have too many digits for a number column to keep them "
                f"apart: use {column_option(subject.name, 'categorical')}"
            )
        return constant(subject)
    grid = Grid(numbers.decimals, numbers.whole)
    return NumberColumn(
        subject.name,
        "numeric",
        bins_of(subject, numbers.values, grid),
        "whole" if numbers.whole else "real",
        decimals=_written_decimals(numbers),
        comma=numbers.comma,
        missing=subject.missing,
        missing_level=subject.missing_level,
        note=_with_signs(subject),
        affixes=numbers.affixes,
    )


def _with_signs(subject: Subject) -> str:
    if subject.numbers.affixes.is_plain:
        return ""
    names = column_option(subject.name, "categorical")
    return f"read as numbers, written like {quoted(subject.text(0))}; {names} takes them for names"


def _written_decimals(numbers: Numbers) -> int | None:
    if numbers.spelled is not None:
        return numbers.spelled or None if numbers.whole else numbers.spelled
    return None if numbers.whole else numbers.decimals


def bins_of(subject: Subject, values: Floats, grid: Grid) -> Bins:
    """The bins of a column's distinct values, of which rows have several or none."""
    rows = values[subject.these.codes[subject.these.codes >= 0]]
    asked = subject.choice.bins or subject.options.bins
    atoms = subject.options.atoms
    bins = make_bins(rows, grid, asked, atoms=atoms)
    most = subject.most_states
    if most is None or bins.states <= most:
        return bins
    return make_bins(rows, grid, most, atoms=atoms)


def not_numeric(subject: Subject) -> DataError:
    """The error for a word among numbers."""
    wrong = subject.numbers.wrong
    position = subject.first(wrong)
    numbers = subject.observed - int(subject.these.counts[wrong].sum())
    others = f", but {numbers} of the column's {subject.observed} values are" if numbers else ""
    named = subject.choice.where and quoted(subject.name) not in subject.choice.where
    where = f" ({subject.choice.where})" if named else ""
    text = subject.text(position)
    return DataError(
        f"{subject.place(position)}: {quoted(text)} is no number{others}{where}: correct it, leave "
        f"the cell empty, take it for missing ({markers_option([text])}), or use "
        f"{column_option(subject.name, 'categorical')}"
    )
