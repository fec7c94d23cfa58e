"""What a column of a schema is, and the two kinds that have no units."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.schema.frame import Cells, Frame, Storage, object_array, quoted
from wakesleep.schema.values import Codes, Floats, distinct, value_texts

Note = Callable[[str], None]
"""What is told things that a person should know."""


class Column(ABC):
    """One column: its cells as states 0, 1, ... and back.

    A new kind is a frozen dataclass of plain values with these methods; `schema_files.py` lists
    the kinds that can be stored.

    Attributes:
        name: in the table.
        kind: for a person: binary, categorical, ordinal, numeric, date, constant, or why it is
            left out.
        missing: the share of training rows without a value.
        missing_level: whether having no value is a state of its own.
        note: what a person should know of it.
    """

    name: str
    kind: str
    missing: float
    missing_level: bool
    note: str

    @property
    @abstractmethod
    def states(self) -> int:
        """How many states a value may be in; 0 for a column that is no part of a model."""

    @abstractmethod
    def codes(self, frame: Frame, note: Note) -> tuple[Codes, Floats]:
        """States `[N]`, -1 for missing ones, and the values on the number line (NaN for others)."""

    @abstractmethod
    def log_measure(self, codes: Codes, within: Floats) -> Floats:
        """What is added to a state's log-probability; 0 but for numbers."""

    @abstractmethod
    def cells(self, codes: Codes, rng: np.random.Generator, tails: bool) -> Cells:
        """A value from each state; -1 gives a missing one."""

    @abstractmethod
    def detail(self) -> str:
        """Levels or bins, in a few words."""

    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """Each state in words: a level, a number, or the ends of a bin."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values."""


def nothing_within(rows: int) -> Floats:
    """The place on the number line of values that have none."""
    return np.full(rows, np.nan)


def convert_levels(levels: tuple[str, ...], storage: Storage) -> npt.NDArray[Any]:
    """Levels by name as values of a column's own type."""
    if storage == "whole":
        return np.array([_whole(level) for level in levels], np.int64)
    if storage == "real":
        return np.array([float(level.replace(",", ".")) for level in levels], np.float64)
    if storage == "boolean":
        return np.array([level.lower() == "true" for level in levels], bool)
    if storage in ("date", "datetime"):
        return np.array(levels, "datetime64[D]" if storage == "date" else "datetime64[us]")
    return object_array(levels)


def _whole(level: str) -> int:
    try:
        return int(level)
    except ValueError:
        return int(float(level.replace(",", ".")))


@dataclass(frozen=True)
class ConstantColumn(Column):
    """A column with one value: no unit, the same value in every sample."""

    name: str
    value: str
    storage: Storage
    missing: float = 0.0
    note: str = ""
    kind: str = "constant"
    missing_level: bool = False

    @property
    def states(self) -> int:
        """None: nothing is to be learnt."""
        return 0

    def codes(self, frame: Frame, note: Note) -> tuple[Codes, Floats]:
        """Nothing but a note where a cell has another value."""
        these = distinct(frame[self.name])
        texts = value_texts(these.storage, these.values)
        others = [i for i, text in enumerate(texts) if not self._is_value(text)]
        count = int(these.counts[others].sum())
        if count:
            note(
                f"column {quoted(self.name)}: {count} of {len(frame)} cells are not "
                f"{quoted(self.value)}, the only value in training, and are not scored"
            )
        return np.zeros(len(frame), np.int64), nothing_within(len(frame))

    def _is_value(self, text: str) -> bool:
        if text == self.value:
            return True
        try:
            return float(text) == float(self.value)
        except ValueError:
            return False

    def log_measure(self, codes: Codes, within: Floats) -> Floats:
        """Nothing."""
        return np.zeros(len(codes))

    def cells(self, codes: Codes, rng: np.random.Generator, tails: bool) -> Cells:
        """The value, in every row."""
        (value,) = convert_levels((self.value,), self.storage)
        values = np.empty(len(codes), object) if self.storage == "text" else None
        if values is None:
            return Cells(
                self.name, self.storage, np.full(len(codes), value), np.zeros(len(codes), bool)
            )
        values[:] = value
        return Cells(self.name, self.storage, values, np.zeros(len(codes), bool))

    def detail(self) -> str:
        """The value."""
        return quoted(self.value)

    def labels(self) -> tuple[str, ...]:
        """None."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"value": self.value, "storage": self.storage}


@dataclass(frozen=True)
class LeftOutColumn(Column):
    """A column that is no part of the model: an identifier, free text, nothing at all."""

    name: str
    kind: str
    missing: float = 0.0
    note: str = ""
    missing_level: bool = False

    @property
    def states(self) -> int:
        """None."""
        return 0

    def codes(self, frame: Frame, note: Note) -> tuple[Codes, Floats]:
        """Nothing."""
        return np.zeros(len(frame), np.int64), nothing_within(len(frame))

    def log_measure(self, codes: Codes, within: Floats) -> Floats:
        """Nothing."""
        return np.zeros(len(codes))

    def cells(self, codes: Codes, rng: np.random.Generator, tails: bool) -> Cells:
        """Every cell missing."""
        return Cells(self.name, "text", object_array([""] * len(codes)), np.ones(len(codes), bool))

    def detail(self) -> str:
        """Nothing."""
        return ""

    def labels(self) -> tuple[str, ...]:
        """None."""
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Nothing more."""
        return {}
