"""Columns of levels: binary, categorical, ordinal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wakesleep.errors import DataError
from wakesleep.schema.columns import Column, Note, convert_levels, nothing_within
from wakesleep.schema.frame import Cells, Frame, Mask, Storage, listed, object_array, quoted
from wakesleep.schema.values import (
    Codes,
    Distinct,
    Floats,
    as_moments,
    as_numbers,
    distinct,
    value_texts,
)

OTHER = "other"


class UnseenLevelError(DataError):
    """A level that no training row has, in a column that has none for others."""


@dataclass(frozen=True)
class LevelColumn(Column):
    """A column whose cells have one of some levels.

    Attributes:
        levels: by name, in the order of their states.
        storage: what the levels are in the table: text, numbers, truth values, dates.
        other: the name of the state that rare and unseen levels share, if there is one.
        pooled: how many levels of the training rows are in it.
        decimals: of levels that are numbers in text.
        comma: whether those have a decimal comma.
        pattern: of levels that are dates in text.
    """

    name: str
    kind: str
    levels: tuple[str, ...]
    storage: Storage
    other: str | None = None
    pooled: int = 0
    decimals: int | None = None
    comma: bool = False
    pattern: str | None = None
    missing: float = 0.0
    missing_level: bool = False
    note: str = ""

    @property
    def states(self) -> int:
        """One per level, and one for other levels where there is such a state."""
        return len(self.levels) + (self.other is not None)

    def codes(self, frame: Frame, note: Note) -> tuple[Codes, Floats]:
        """By name or by value; an unseen level is another's, or an error."""
        these = distinct(frame[self.name], frozenset(self.levels))
        states = self._states_of(these, frame.comma)
        unseen = np.flatnonzero(states < 0)
        if len(unseen):
            self._report_unseen(these, unseen, frame, note)
            states[unseen] = len(self.levels)
        return these.spread(states, -1), nothing_within(len(frame))

    def unseen(self, frame: Frame) -> Mask:
        """Which cells have a level that is none of these, `[N]`."""
        these = distinct(frame[self.name], frozenset(self.levels))
        strange: Mask = these.spread(self._states_of(these, frame.comma), 0) < 0
        return strange

    def states_of(self, texts: Sequence[str]) -> Codes:
        """The state of each level, by name or by value; -1 for one that is unknown."""
        these = Distinct("text", object_array(list(texts)), np.arange(len(texts)))
        return self._states_of(these, self.comma)

    def _states_of(self, these: Distinct, comma: bool) -> Codes:
        """The level of each distinct value, -1 for none of them."""
        if self.storage in ("whole", "real"):
            known: Any = convert_levels(self.levels, self.storage).astype(float).tolist()
            keys: Any = as_numbers(these, comma).values.tolist()
        elif self.storage in ("date", "datetime"):
            known = convert_levels(self.levels, self.storage).astype("datetime64[us]").tolist()
            moments = as_moments(these, self.pattern) or as_moments(these)
            keys = [] if moments is None else moments.values.tolist()
        else:
            known, keys = list(self.levels), value_texts(these.storage, these.values)
        positions = {key: state for state, key in enumerate(known)}
        if self.storage == "boolean" or these.storage == "boolean":
            positions = {_truth(key): state for key, state in positions.items()}
            keys = [_truth(key) for key in keys]
        states = [positions.get(key, -1) for key in keys] or [-1] * len(these.values)
        if self.storage == "whole":
            # Digits beyond a float's tell levels apart too.
            names = {level: state for state, level in enumerate(self.levels)}
            texts = value_texts(these.storage, these.values)
            states = [names.get(text, state) for text, state in zip(texts, states, strict=True)]
        return np.array(states, np.int64)

    def _report_unseen(self, these: Distinct, unseen: Codes, frame: Frame, note: Note) -> None:
        texts = value_texts(these.storage, these.values)
        if self.other is None:
            position = int(unseen[np.argmin([these.first_row(int(i)) for i in unseen])])
            raise UnseenLevelError(
                f"{frame.place(these.first_row(position), self.name)}: {quoted(texts[position])} "
                f"is none of the training rows' levels ({listed(self.levels)}): correct it, leave "
                "the cell empty, or train with rows that have it"
            )
        strange = [int(i) for i in unseen if texts[i] != self.other]
        count = int(these.counts[strange].sum()) if strange else 0
        if count and self.pooled == 0:
            note(f"column {quoted(self.name)}: {count} cells have levels unseen in training")
        elif count:
            note(
                f"column {quoted(self.name)}: {count} cells have levels that are rare or unseen in "
                f"training ({listed([texts[i] for i in strange], 3)}) and count as {self.other!r}"
            )

    def log_measure(self, codes: Codes, within: Floats) -> Floats:
        """0: a level's probability is its probability."""
        return np.zeros(len(codes))

    def cells(self, codes: Codes, rng: np.random.Generator, tails: bool) -> Cells:
        """The levels themselves."""
        names = self.labels()
        # "other" is no number.
        storage: Storage = self.storage if self.other is None else "text"
        missing = codes < 0
        values = convert_levels(names, storage)[np.where(missing, 0, codes)]
        if storage == "text":
            values[missing] = ""
        return Cells(
            self.name,
            storage,
            values,
            missing,
            names if storage == "text" else None,
            self.kind == "ordinal",
            self.decimals,
            self.comma,
            self.pattern,
        )

    def detail(self) -> str:
        """How many levels, and the first of them."""
        pooled = f"; {self.pooled} rare ones are {self.other!r}" if self.pooled else ""
        return f"{len(self.levels)}: {listed(self.levels, 4)}{pooled}"

    def labels(self) -> tuple[str, ...]:
        """The levels, and the name of what others share."""
        return self.levels if self.other is None else (*self.levels, self.other)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "levels": list(self.levels),
            "storage": self.storage,
            "other": self.other,
            "pooled": self.pooled,
            "decimals": self.decimals,
            "comma": self.comma,
            "pattern": self.pattern,
        }


def _truth(key: Any) -> Any:
    """One spelling for truth values: True, "TRUE", "1" and 1.0 are the same."""
    text = str(key).lower()
    return {"true": "true", "false": "false", "1": "true", "1.0": "true", "0": "false"}.get(
        text, "false" if text == "0.0" else text
    )
