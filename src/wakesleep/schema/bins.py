"""The bins of a number column: which one a value is in, its measure there, and draws."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

_REDRAWS = 20


class Middle:
    """In place of a generator of random numbers: draws from a bin are in the middle of its core."""

    def random(self, size: int) -> Floats:
        """Halves."""
        return np.full(size, 0.5)


@dataclass(frozen=True, eq=False)
class Bins:
    """Intervals that cover the line, and atoms: single values with a probability of their own.

    Bin k owns the line from `cuts[k - 1]` to `cuts[k]`, the first and the last one without end.
    Its probability is uniform over its core, from `lower[k]` to `upper[k]`, but for small shares
    `left[k]` and `right[k]`, which are uniform over what it owns beside the core; the two outer
    ones fall off exponentially, with `scales` for their mean lengths. A core of one point (lower
    = upper) has a probability in place of a density.

    With `decimals`, values are on a grid and every bound is half a step from its points, so that a
    rounded draw stays in its bin. For whole numbers (no decimals, `whole`) densities over steps are
    probabilities, and the exponential falls off from step to step: it is geometric.

    Attributes:
        lower: `[K]`, increasing.
        upper: `[K]`.
        cuts: `[K - 1]`, from `upper[k]` to `lower[k + 1]`.
        left: `[K]`, shares below the core.
        right: `[K]`, shares above the core.
        scales: of the lower and the upper tail.
        atoms: `[A]`, increasing; their states come after those of the bins.
        decimals: values are multiples of 10^-decimals; None where they may be anything.
        whole: whether values are whole numbers, with probabilities.
    """

    lower: Floats
    upper: Floats
    cuts: Floats
    left: Floats
    right: Floats
    scales: tuple[float, float]
    atoms: Floats
    decimals: int | None = None
    whole: bool = False

    @property
    def states(self) -> int:
        """How many bins and atoms there are."""
        return len(self.lower) + len(self.atoms)

    @property
    def step(self) -> float:
        """The distance of two values on the grid; 0 where there is none."""
        if self.whole:
            return 1.0
        return 0.0 if self.decimals is None else 10.0**-self.decimals

    def problem(self) -> str | None:
        """Why densities over these would not integrate to one."""
        count = len(self.lower)
        if not count or any(len(part) != count for part in (self.upper, self.left, self.right)):
            return "'lower', 'upper', 'left' and 'right' must be equally long"
        if len(self.cuts) != count - 1:
            return "there must be one of 'cuts' fewer than of 'lower'"
        ends = np.stack([self.lower, self.upper], 1).ravel()
        if (np.diff(ends) < 0).any() or (np.diff(self.atoms) <= 0).any():
            return "'lower', 'upper' and 'atoms' must increase"
        if (self.cuts < self.upper[:-1]).any() or (self.cuts > self.lower[1:]).any():
            return "'cuts' must be between the bins"
        if (self.left < 0).any() or (self.right < 0).any() or (self.left + self.right >= 1).any():
            return "'left' and 'right' must be shares of less than 1"
        below = np.r_[np.inf, self.lower[1:] - self.cuts]
        above = np.r_[self.cuts - self.upper[:-1], np.inf]
        if ((self.left > 0) != (below > 0)).any() or ((self.right > 0) != (above > 0)).any():
            return "'left' and 'right' must be positive where there is room, and 0 elsewhere"
        if min(self.scales) <= 0:
            return "'scales' must be two positive numbers"
        return "there must be two bins or atoms at least" if self.states < 2 else None

    def codes(self, values: Floats) -> Codes:
        """The state of each value."""
        codes = np.searchsorted(self.cuts, values, side="right")
        if len(self.atoms):
            at = np.minimum(np.searchsorted(self.atoms, values), len(self.atoms) - 1)
            codes = np.where(self.atoms[at] == values, len(self.lower) + at, codes)
        return codes.astype(np.int64)

    def log_measure(self, values: Floats, codes: Codes) -> Floats:
        """What log P(state) lacks to be a value's log-density, or its log-probability.

        In the core log(1 - left - right) - log(width); in the upper tail, with d for the distance
        to the core, log(right) - log(scale) - d / scale, or for whole numbers, the n-th after the
        core, log(right) + log(1 - exp(-1/scale)) - (n - 1) / scale. An atom's is 0.
        """
        measure = np.zeros(len(values))
        in_bin = np.flatnonzero(codes < len(self.lower))
        x, k = values[in_bin], codes[in_bin]
        below, above = x < self.lower[k], x > self.upper[k]
        width = self.upper[k] - self.lower[k]
        core = np.log1p(-(self.left[k] + self.right[k])) - np.log(np.where(width > 0, width, 1.0))
        measure[in_bin] = core
        measure[in_bin[below]] = self._beside(
            k[below], self.lower[k[below]] - x[below], upper=False
        )
        measure[in_bin[above]] = self._beside(k[above], x[above] - self.upper[k[above]], upper=True)
        return measure

    def _beside(self, k: Codes, distance: Floats, *, upper: bool) -> Floats:
        """The measure below or above the core, at a distance from it."""
        share = np.log((self.right if upper else self.left)[k])
        scale = self.scales[upper]
        if self.whole:
            tail = np.log(-np.expm1(-1.0 / scale)) - (distance - 0.5) / scale
        else:
            tail = -np.log(scale) - distance / scale
        return share + np.where(self.is_tail(k, upper), tail, -np.log(self.gap(k, upper)))

    def is_tail(self, k: Codes, upper: bool) -> npt.NDArray[np.bool_]:
        """Whether the bin goes on for ever on this side."""
        return k == (len(self.lower) - 1 if upper else 0)

    def gap(self, k: Codes, upper: bool) -> Floats:
        """The length owned beside the core; 1 for a tail, where nobody asks."""
        if not len(self.cuts):
            return np.ones(len(k))
        if upper:
            gap = self.cuts[np.minimum(k, len(self.cuts) - 1)] - self.upper[k]
        else:
            gap = self.lower[k] - self.cuts[np.maximum(k - 1, 0)]
        return np.where(self.is_tail(k, upper), 1.0, gap)

    def draw(self, codes: Codes, rng: np.random.Generator, tails: bool = True) -> Floats:
        """A value from each state; without tails, from its core: none that is beside the data."""
        values = np.empty(len(codes))
        atoms = codes >= len(self.lower)
        values[atoms] = self.atoms[codes[atoms] - len(self.lower)] if atoms.any() else 0.0
        left = np.flatnonzero(~atoms)
        for _ in range(_REDRAWS):
            drawn = self._draw_in_bins(codes[left], rng, tails)
            values[left] = self.rounded(drawn, codes[left])
            # A draw that rounds to an atom would be counted as the atom.
            again = np.isin(values[left], self.atoms)
            if not again.any():
                return values
            left, drawn = left[again], drawn[again]
        values[left] = drawn
        return values

    def _draw_in_bins(self, k: Codes, rng: np.random.Generator, tails: bool) -> Floats:
        part, place = rng.random(len(k)), rng.random(len(k))
        core = self.lower[k] + place * (self.upper[k] - self.lower[k])
        far = -np.log1p(-place)
        first, last = self.is_tail(k, False), self.is_tail(k, True)
        low = np.where(first, far * self.scales[0], place * self.gap(k, False))
        high = np.where(last, far * self.scales[1], place * self.gap(k, True))
        below = tails & (part < self.left[k])
        above = tails & (part > 1.0 - self.right[k])
        return np.where(below, self.lower[k] - low, np.where(above, self.upper[k] + high, core))

    def at(self, codes: Codes, shares: Floats) -> Floats:
        """The value below which a share of each state's probability lies; an atom's own."""
        atoms = codes >= len(self.lower)
        k = np.where(atoms, 0, codes)
        inside = self.lower[k] + np.clip(shares, 0, 1) * (self.upper[k] - self.lower[k])
        values = self.rounded(inside, k)
        if atoms.any():
            values[atoms] = self.atoms[codes[atoms] - len(self.lower)]
        return values

    def rounded(self, values: Floats, k: Codes) -> Floats:
        """On the grid, where there is one, and still in their bins."""
        if self.decimals is None:
            return values
        rounded = np.round(values, self.decimals)
        # Half-way draws may round over the edge.
        outer = np.concatenate([[-np.inf], self.cuts, [np.inf]])
        half = 0.5 * 10.0**-self.decimals
        inside: Floats = np.clip(rounded, outer[k] + half, outer[k + 1] - half)
        return np.round(inside, self.decimals)

    def order(self) -> npt.NDArray[np.intp]:
        """The states in the order of their values on the line, `[K + A]`."""
        return np.argsort(np.concatenate([(self.lower + self.upper) / 2, self.atoms]))

    def range(self) -> tuple[float, float]:
        """The least and the largest value of the training rows, but for atoms."""
        half = 0.0 if self.decimals is None else 0.5 * 10.0**-self.decimals
        return float(self.lower[0] + half), float(self.upper[-1] - half)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **{name: getattr(self, name).tolist() for name in ARRAYS},
            "scales": list(self.scales),
            "decimals": self.decimals,
            "whole": self.whole,
        }


ARRAYS = ("lower", "upper", "cuts", "left", "right", "atoms")
