"""Numbers that several training rows share: prices that end in 99, heights in whole inches.

Drawn from its bin by a density, a number hardly ever is one of them, and everybody sees that the
row was made up. So a shared number attracts the draws around it, within a radius where the training
rows, spread evenly, would have as many numbers as it has rows: those draws become that number, all
others stay what they were. A draw keeps its bin and moves no further than that radius, so that
numbers that were placed given each other stay together. Scores do not change: a density does not
know single numbers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.schema.bins import Bins

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

MOST_VALUES = 1000
"""Of a column, those that most rows share."""
NEIGHBOURS = 10
"""Rows around a shared number that say how dense they are, besides twice those that share it."""


@dataclass(frozen=True, eq=False)
class SharedValues:
    """Which draws become a number that training rows share.

    Attributes:
        values: `[M]`, increasing.
        radii: `[M]`, how near a draw must be to become the value.
    """

    values: Floats
    radii: Floats

    @classmethod
    def fit(cls, bins: Bins, numbers: Floats) -> "SharedValues | None":
        """Of a column's training numbers; None where no two rows share one.

        On a grid rows share numbers by chance: those that have no more than twice the rows that a
        grid point around them has are left out.
        """
        rows = np.sort(numbers[~np.isnan(numbers)])
        codes = bins.codes(rows)
        rows, codes = rows[codes < len(bins.lower)], codes[codes < len(bins.lower)]
        values, first, counts = np.unique(rows, return_index=True, return_counts=True)
        wide = bins.upper[codes[first]] > bins.lower[codes[first]]
        shared = np.flatnonzero((counts > 1) & wide)
        shared = np.sort(shared[np.argsort(-counts[shared], kind="stable")][:MOST_VALUES])
        bounds = np.searchsorted(codes, np.arange(len(bins.lower) + 1))
        radii = np.array(
            [
                _radius(bins, code, rows[bounds[code] : bounds[code + 1]], values[at], counts[at])
                for at, code in zip(shared, codes[first[shared]], strict=True)
            ]
        )
        kept = radii > bins.step
        return cls(values[shared][kept], radii[kept]) if kept.any() else None

    def of(self, bins: Bins, codes: Codes, drawn: Floats, rng: Any) -> Floats:
        """Numbers drawn from states, `[N]`, of which some become shared ones."""
        # On a grid a draw stands for the whole of its step.
        places = drawn + (rng.random(len(drawn)) - 0.5) * bins.step
        after = np.searchsorted(self.values, places)
        sides = np.clip([after - 1, after], 0, len(self.values) - 1)
        reach = np.abs(self.values[sides] - places) / self.radii[sides]
        nearest = np.where(reach[0] <= reach[1], sides[0], sides[1])
        taken = (reach.min(axis=0) <= 1) & (bins.codes(self.values)[nearest] == codes)
        return np.where(taken, self.values[nearest], drawn)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {name: getattr(self, name).tolist() for name in ARRAYS}

    def problem(self, bins: Bins) -> str | None:
        """Why these are no shared numbers of such bins."""
        if not len(self.values) == len(self.radii) > 0:
            return "'values' and 'radii' must be equally long"
        if (np.diff(self.values) <= 0).any() or (bins.codes(self.values) >= len(bins.lower)).any():
            return "'values' must increase, and be no atoms"
        if not (self.radii > 0).all():
            return "'radii' must be positive"
        return None


def _radius(bins: Bins, code: int, rows: Floats, value: float, count: int) -> float:
    """Where as many rows of the bin are expected, by how dense they are around the value."""
    lower, upper = bins.lower[code], bins.upper[code]
    near = min(2 * count + NEIGHBOURS, len(rows))
    distance = np.partition(np.abs(rows - value), near - 1)[near - 1]
    if distance == 0:
        return float(upper - lower)
    distance += bins.step / 2
    length = min(value + distance, upper) - max(value - distance, lower)
    return float(count * length / (2 * near))


ARRAYS = ("values", "radii")
