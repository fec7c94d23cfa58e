"""Columns of numbers, dates and times."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from wakesleep.errors import DataError
from wakesleep.schema import temporal
from wakesleep.schema.affixes import PLAIN, Affixes
from wakesleep.schema.bins import Bins
from wakesleep.schema.columns import Column, Note
from wakesleep.schema.frame import Cells, Frame, Mask, Storage, quoted
from wakesleep.schema.shared_values import SharedValues
from wakesleep.schema.values import (
    Codes,
    Distinct,
    Floats,
    as_moments,
    as_numbers,
    distinct,
    row_numbers,
    value_texts,
)


@dataclass(frozen=True)
class NumberColumn(Column):
    """A column of numbers in bins; dates are whole numbers of a unit.

    Attributes:
        bins: where they are, and the measure within them.
        storage: whole, real, date or datetime.
        unit: of dates and times: what their numbers count, from the first of January 1970.
        decimals: that numbers in text are written with; None for as many as it takes.
        comma: whether they have a decimal comma.
        pattern: of dates in text.
        affixes: signs that numbers in text are written with.
        shared: numbers that several training rows share; None where there are none.
    """

    name: str
    kind: str
    bins: Bins
    storage: Storage
    unit: str | None = None
    decimals: int | None = None
    comma: bool = False
    pattern: str | None = None
    missing: float = 0.0
    missing_level: bool = False
    note: str = ""
    shared: SharedValues | None = None
    affixes: Affixes = PLAIN

    @property
    def states(self) -> int:
        """One per bin and atom."""
        return self.bins.states

    def codes(self, frame: Frame, note: Note) -> tuple[Codes, Floats]:
        """Bins by value; a cell that is no number is an error."""
        within = row_numbers(frame[self.name]) if self.unit is None else None
        if within is None:
            these = distinct(frame[self.name])
            within = these.spread(self._numbers(these, frame), np.nan)
        seen = ~np.isnan(within)
        if self.bins.whole:
            count = int((np.rint(within[seen]) != within[seen]).sum())
            if count:
                note(
                    f"column {quoted(self.name)}: {count} cells are no whole numbers, as all were "
                    "in training, and are rounded"
                )
            within = np.rint(within)
        codes = np.full(len(frame), -1, np.int64)
        codes[seen] = self.bins.codes(within[seen])
        return codes, within

    def _numbers(self, these: Distinct, frame: Frame) -> Floats:
        if self.unit is None:
            numbers = as_numbers(these, frame.comma, self.affixes)
            self._refuse(numbers.wrong, these, frame, "no number")
            return numbers.values
        if not len(these.values):
            return np.empty(0)
        moments = as_moments(these, self.pattern)
        if moments is None or moments.wrong:
            # Another file may write its dates in another way.
            moments = as_moments(these) or moments
        wrong = list(range(len(these.values))) if moments is None else moments.wrong
        like = f" like {self.pattern}" if self.pattern else ""
        self._refuse(wrong, these, frame, f"no date{like}")
        assert moments is not None
        return temporal.to_numbers(moments.values, self.unit)

    def _refuse(self, wrong: list[int], these: Distinct, frame: Frame, what: str) -> None:
        if not wrong:
            return
        position = min(wrong, key=these.first_row)
        text = value_texts(these.storage, these.values[position : position + 1])[0]
        raise DataError(
            f"{frame.place(these.first_row(position), self.name)}: {quoted(text)} is {what}, as "
            "the column's cells were in training: correct it, or leave the cell empty"
        )

    def log_measure(self, codes: Codes, within: Floats) -> Floats:
        """0 for missing cells."""
        measure = np.zeros(len(codes))
        seen = (codes >= 0) & (codes < self.states)
        measure[seen] = self.bins.log_measure(within[seen], codes[seen])
        return measure

    def cells(self, codes: Codes, rng: np.random.Generator, tails: bool) -> Cells:
        """A number from each bin."""
        return self.cells_of(self.draw(codes, rng, tails), codes < 0)

    def draw(self, codes: Codes, rng: np.random.Generator, tails: bool) -> Floats:
        """A number on the line from each bin; 0 where it is missing."""
        seen = codes >= 0
        numbers = np.zeros(len(codes))
        numbers[seen] = self.bins.draw(codes[seen], rng, tails)
        return numbers

    def cells_of(self, numbers: Floats, missing: Mask) -> Cells:
        """Numbers on the line as values of the column's own type."""
        values: Any = numbers
        if self.unit is not None:
            moments = temporal.from_numbers(numbers, self.unit)
            values = moments.astype("datetime64[D]") if self.storage == "date" else moments
        elif self.storage == "whole":
            values = np.rint(numbers).astype(np.int64)
        return Cells(
            self.name,
            self.storage,
            values,
            missing,
            decimals=self.decimals,
            comma=self.comma,
            pattern=self.pattern,
            affixes=self.affixes,
        )

    def detail(self) -> str:
        """How many bins, over what range."""
        atoms = self.bins.atoms
        least, most = self.bins.range()
        extra = f", and exactly {', '.join(map(self._shown, atoms[:3]))}" if len(atoms) else ""
        bins = f"{len(self.bins.lower)} bin{'' if len(self.bins.lower) == 1 else 's'}"
        return f"{bins} from {self._shown(least)} to {self._shown(most)}{extra}"

    def labels(self) -> tuple[str, ...]:
        """The least and the largest value of each bin, then the atoms."""
        bins = self.bins
        half = 0.0 if bins.decimals is None else 0.5 * 10.0**-bins.decimals
        ends = zip(bins.lower + half, bins.upper - half, strict=True)
        texts = [(self._shown(low), self._shown(max(low, high))) for low, high in ends]
        cores = [low if low == high else f"{low} to {high}" for low, high in texts]
        return (*cores, *map(self._shown, bins.atoms))

    def _shown(self, value: float) -> str:
        if self.unit is None:
            return f"{value:.6g}"
        moment = temporal.from_numbers(np.array([value]), self.unit)[0]
        return temporal.moment_text(moment, self.pattern).removesuffix(" 00:00:00")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "bins": self.bins.to_dict(),
            "storage": self.storage,
            "unit": self.unit,
            "decimals": self.decimals,
            "comma": self.comma,
            "pattern": self.pattern,
            **({} if self.affixes.is_plain else {"affixes": self.affixes.to_dict()}),
            **({} if self.shared is None else {"shared": self.shared.to_dict()}),
        }


def with_shared_values(
    columns: tuple[Column, ...],
    cells: tuple[Codes, Floats | None],
    drawn: dict[int, Floats],
    rng: Any,
) -> dict[int, Floats]:
    """Drawn numbers by group, with those that training rows share among them.

    Args:
        columns: the modelled ones.
        cells: states `[N, G]`, and numbers that are known and stay, NaN for all else.
        drawn: numbers `[N]` of some groups.
        rng: the generator of random numbers.
    """
    codes, known = cells
    found = {}
    for group, numbers in drawn.items():
        column = columns[group]
        if isinstance(column, NumberColumn) and column.shared is not None:
            new = column.shared.of(column.bins, codes[:, group], numbers, rng)
            stays = False if known is None else ~np.isnan(known[:, group])
            found[group] = np.where(stays, numbers, new)
    return found
