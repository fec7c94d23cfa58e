"""Numbers that several training rows share: prices that end in 99, heights in whole inches.

Drawn evenly from its bin, a number hardly ever is one of them, and everybody sees that the row was
made up. So a draw's place in its bin is read as a place among the bin's training numbers, in order:
where rows share a number there, the draw becomes that number, and elsewhere it stays what it was.
Draws keep their bin and their order. Scores do not change: a density does not know single numbers.
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


@dataclass(frozen=True, eq=False)
class SharedValues:
    """Which places in the bins of a column belong to shared numbers.

    Attributes:
        values: `[M]`, increasing.
        starts: `[M]`, the share of its bin's numbers that are smaller.
        ends: `[M]`, the share that are smaller or the same.
    """

    values: Floats
    starts: Floats
    ends: Floats

    @classmethod
    def fit(cls, bins: Bins, numbers: Floats) -> "SharedValues | None":
        """Of a column's training numbers; None where no two rows share one."""
        values, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
        codes = bins.codes(values)
        in_bin = codes < len(bins.lower)
        values, counts, codes = values[in_bin], counts[in_bin], codes[in_bin]
        totals = np.bincount(codes, counts, len(bins.lower))[codes]
        reached = np.cumsum(counts)
        before = np.concatenate([[0], np.cumsum(np.bincount(codes, counts, len(bins.lower)))])[
            codes
        ]
        wide = bins.upper[codes] > bins.lower[codes]
        kept = np.flatnonzero((counts > 1) & wide)
        kept = np.sort(kept[np.argsort(-counts[kept], kind="stable")][:MOST_VALUES])
        if not len(kept):
            return None
        ends = ((reached - before) / totals)[kept]
        return cls(values[kept], ends - (counts / totals)[kept], ends)

    def of(self, bins: Bins, codes: Codes, drawn: Floats, rng: Any) -> Floats:
        """Numbers drawn from states, `[N]`, with shared ones in the places that are theirs."""
        # On a grid a draw stands for the whole of its step.
        spread = (rng.random(len(drawn)) - 0.5) * bins.step
        in_bin = (codes >= 0) & (codes < len(bins.lower))
        k = np.where(in_bin, codes, 0)
        width = bins.upper[k] - bins.lower[k]
        place = (drawn + spread - bins.lower[k]) / np.where(width > 0, width, 1.0)
        # Bins one after another: place p of bin k is the point k + p of one line.
        starts = bins.codes(self.values) + self.starts
        at = np.maximum(np.searchsorted(starts, k + place, side="right") - 1, 0)
        inside = (place >= self.starts[at]) & (place < self.ends[at])
        taken = in_bin & inside & (bins.codes(self.values)[at] == k)
        return np.where(taken, self.values[at], drawn)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {name: getattr(self, name).tolist() for name in ARRAYS}

    def problem(self, bins: Bins) -> str | None:
        """Why these are no shared numbers of such bins."""
        if not len(self.values) == len(self.starts) == len(self.ends) > 0:
            return "'values', 'starts' and 'ends' must be equally long"
        codes = bins.codes(self.values)
        if (np.diff(self.values) <= 0).any() or (codes >= len(bins.lower)).any():
            return "'values' must increase, and be no atoms"
        if (self.starts < 0).any() or (self.ends <= self.starts).any() or (self.ends > 1).any():
            return "'starts' and 'ends' must be shares, from less to more"
        after = np.diff(codes) == 0
        if (self.starts[1:][after] < self.ends[:-1][after] - 1e-9).any():
            return "'starts' and 'ends' must not overlap within a bin"
        return None


ARRAYS = ("values", "starts", "ends")
