"""Rows of a table as states of groups, and as bits."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.schema.frame import Mask

Bits = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


def group_size(states: int) -> int:
    """The units of a group: one bit for two states, one per state for more."""
    return 1 if states == 2 else states


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows of a table as states of groups.

    Attributes:
        codes: `[N, G]`, each group's state; -1 where it is missing.
        within: `[N, G]`, a number's own value; NaN for what is none.
        states: how many each group has.
        notes: what a person should know: unseen levels, columns that are missing or unknown.
    """

    codes: Codes
    within: Floats
    states: tuple[int, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: npt.NDArray[Any]) -> "Encoded":
        """Some of the rows, by number or as a mask."""
        return replace(self, codes=self.codes[rows], within=self.within[rows])

    @property
    def observed(self) -> Mask:
        """`[N, G]`, true where there is a value."""
        return self.codes >= 0

    @cached_property
    def bits(self) -> Bits:
        """`[N, D]`; a missing group's units are all 0."""
        return bits_of(self.codes, self.states)

    def blocks(self, rows: int = 4096) -> Iterator[Bits]:
        """The bits of some rows at a time, for tables whose bits are many."""
        for start in range(0, len(self), rows):
            yield bits_of(self.codes[start : start + rows], self.states)


def bits_of(codes: Codes, states: tuple[int, ...]) -> Bits:
    """States `[N, G]` as bits `[N, D]`."""
    sizes = [group_size(count) for count in states]
    bits = np.zeros((len(codes), sum(sizes)), np.uint8)
    ends = np.cumsum(sizes)
    for group, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        code = codes[:, group]
        if size == 1:
            bits[:, end - 1] = code == 1
        else:
            seen = np.flatnonzero(code >= 0)
            bits[seen, end - size + code[seen]] = 1
    return bits


def codes_of(bits: npt.NDArray[Any], sizes: tuple[int, ...], observed: Mask | None = None) -> Codes:
    """Bits `[N, D]` in groups of these sizes as states `[N, G]`; -1 where one is not observed."""
    codes = np.empty((len(bits), len(sizes)), np.int32)
    for group, (size, end) in enumerate(zip(sizes, np.cumsum(sizes), strict=True)):
        part = bits[:, end - size : end]
        codes[:, group] = part[:, 0] if size == 1 else part.argmax(1)
    return codes if observed is None else np.where(observed, codes, -1).astype(np.int32)
