"""Where in their bins the numbers of a row are: a Gaussian mixture over them, cut to the bins.

A model of bits says which bin each number is in. Uniform in its bin, a number would know nothing
more of the others, and columns that follow each other closely would lose all that is finer than a
bin. Here the numbers of a row are placed one after another, each given those before it,

    p(x_j | bin_j, x_<j) = ε uniform + (1 - ε) Σ_c r_c N(x_j; m_cj, s_cj) / Σ_c r_c P_c(bin_j),

where m_cj, s_cj are what component c expects of x_j, r_c is its share given the numbers before, and
P_c(bin) the mass of its Gaussian there. Every factor integrates to one over its bin. Skewed columns
are on a scale of their own (`powers.py`), and N is then the density that a Gaussian there has in
the column's units.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.schema.bins import Bins
from wakesleep.schema.normal import inverse_normal, log_normal_density, log_normal_mass
from wakesleep.schema.powers import Power

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

UNIFORM = 0.05
"""The share ε of a number that is uniform in its bin whatever the others are."""
ARRAYS = ("centre", "spread", "log_weights", "means", "factors")


@dataclass(frozen=True, eq=False)
class Within:
    """A mixture of C Gaussians over J columns of numbers.

    Attributes:
        groups: which of the modelled columns they are, in order.
        powers: the scales of the columns.
        centre: what is subtracted from each column on its scale, `[J]`.
        spread: what it is then divided by, `[J]`.
        log_weights: of the components, `[C]`.
        means: `[C, J]`.
        factors: Cholesky factors of the covariances, `[C, J, J]`.
    """

    groups: tuple[int, ...]
    powers: tuple[Power, ...]
    centre: Floats
    spread: Floats
    log_weights: Floats
    means: Floats
    factors: Floats

    def log_ratio(
        self,
        codes: npt.NDArray[Any],
        values: Floats,
        bins: list[Bins],
        counted: npt.NDArray[np.bool_] | None = None,
    ) -> Floats:
        """What is added to a row's log-density for numbers not uniform in their bins, `[N]`.

        Args:
            codes: states of these columns, `[N, J]`; -1 is missing.
            values: the numbers, `[N, J]`.
            bins: of these columns.
            counted: `[N, J]`, the numbers of which it is asked, given all before; all unless said.
        """
        walk, total = _Walk(self, len(codes)), np.zeros(len(codes))
        for j, own in enumerate(bins):
            x, cell = values[:, j], _Core.of(own, codes[:, j])
            asked = cell.holds(x) if counted is None else cell.holds(x) & counted[:, j]
            total += np.where(asked, walk.log_ratio(cell, x), 0.0)
            walk.go_on(own, x)
        return total

    def place(
        self,
        codes: npt.NDArray[Any],
        values: Floats,
        known: Floats,
        bins: list[Bins],
        rng: Any,
        shares: Floats | None = None,
    ) -> Floats:
        """Numbers `[N, J]` in the cores of their bins, each given those before it.

        Args:
            codes: states of these columns, `[N, J]`.
            values: the numbers as drawn evenly; those beside the cores stay.
            known: numbers that stay in any case, NaN for all else.
            bins: of these columns.
            rng: the generator of random numbers.
            shares: how much of what is expected in its bin is below a number, in place of chance.
        """
        walk, placed = _Walk(self, len(codes)), np.where(np.isnan(known), values, known)
        for j, own in enumerate(bins):
            cell = _Core.of(own, codes[:, j])
            new = np.isnan(known[:, j]) & cell.holds(placed[:, j])
            drawn = walk.draw(cell, rng) if shares is None else walk.at(cell, shares[:, j])
            drawn = own.rounded(drawn, np.where(cell.in_bin, codes[:, j], 0))
            # What would be counted as an atom, or at a bound as the next bin's, stays where it was.
            new &= own.codes(drawn) == codes[:, j]
            placed[new, j] = drawn[new]
            walk.go_on(own, placed[:, j])
        return placed

    def nearest(self, values: Floats, bins: list[Bins]) -> Codes:
        """The component that most likely gave each row of numbers `[N, J]`; NaN is missing."""
        walk = _Walk(self, len(values))
        for j, own in enumerate(bins):
            walk.go_on(own, values[:, j])
        return walk.log_shares.argmax(axis=1)

    def smoothed(self, values: Floats, components: Codes, width: float, noise: Floats) -> Floats:
        """Numbers `[N, J]` moved by noise that is `width` times as wide as their component is.

        `noise` is from the standard normal. Numbers are drawn towards the component's mean by as
        much as keeps the covariance: with a large width they are draws from the component, with
        a small one they stay near what they were.
        """
        mean = self.means[components]
        scaled = [power.to(x) for power, x in zip(self.powers, values.T, strict=True)]
        apart = (np.stack(scaled, axis=1) - self.centre) / self.spread - mean
        apart = apart + width * np.einsum("nij,nj->ni", self.factors[components], noise)
        moved = self.centre + self.spread * (mean + apart / np.sqrt(1 + width**2))
        return np.stack([p.back(y) for p, y in zip(self.powers, moved.T, strict=True)], axis=1)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        arrays = {name: getattr(self, name).tolist() for name in ARRAYS}
        powers = {} if self.is_plain else {"powers": [list(power) for power in self.powers]}
        return {"groups": list(self.groups), **powers, **arrays}

    @property
    def is_plain(self) -> bool:
        """Whether all columns are as they are."""
        return all(power == Power() for power in self.powers)


@dataclass(frozen=True, eq=False)
class _Core:
    """The cores of the bins that the cells of a column are in, `[N]`; `step` is the grid's or 0."""

    low: Floats
    high: Floats
    in_bin: npt.NDArray[np.bool_]
    step: float

    @classmethod
    def of(cls, bins: Bins, codes: npt.NDArray[Any]) -> "_Core":
        in_bin = (codes >= 0) & (codes < len(bins.lower))
        k = np.where(in_bin, codes, 0)
        return cls(bins.lower[k], bins.upper[k], in_bin, bins.step)

    def holds(self, values: Floats) -> npt.NDArray[np.bool_]:
        """Where a value is in a core that has a width."""
        with np.errstate(invalid="ignore"):
            inside = (values >= self.low) & (values <= self.high)
        return self.in_bin & inside & (self.high > self.low)


class _Walk:
    """The columns one after another: what each component expects of the next, `[N, C]`."""

    def __init__(self, within: Within, rows: int):
        self.within, self.j = within, 0
        self.log_shares = np.tile(within.log_weights, (rows, 1))
        # What is left of each number once those before it are known, in standard deviations.
        self.residuals = np.zeros((rows, *within.means.shape))

    @property
    def power(self) -> Power:
        """The next column's scale."""
        return self.within.powers[self.j]

    def expected(self) -> tuple[Floats, Floats]:
        """Means `[N, C]` and deviations `[C]` of the next number, on its scale."""
        j, within = self.j, self.within
        factors = within.factors[:, j, :]
        shift = np.einsum("nci,ci->nc", self.residuals[:, :, :j], factors[:, :j])
        mean = within.means[:, j] + shift
        return within.centre[j] + within.spread[j] * mean, within.spread[j] * factors[:, j]

    def log_ratio(self, cell: _Core, x: Floats) -> Floats:
        """log p(x | bin, numbers before) less that of the uniform one, `[N]`."""
        inside = np.where(cell.holds(x), x, cell.low)
        at = self.log_shares + self._log_density(inside, cell.step)
        mass = self.log_shares + log_normal_mass(*self._standard(cell.low, cell.high))
        width = np.where(cell.high > cell.low, cell.high - cell.low, 1.0)
        gained = np.logaddexp.reduce(at, axis=1) - np.logaddexp.reduce(mass, axis=1) + np.log(width)
        return np.logaddexp(np.log(UNIFORM), np.log1p(-UNIFORM) + gained)

    def draw(self, cell: _Core, rng: Any) -> Floats:
        """A number in each core, `[N]`."""
        rows = len(cell.low)
        drawn = self._inside(cell, rng.random(rows), rng.random(rows))
        even = cell.low + rng.random(rows) * (cell.high - cell.low)
        return np.where(rng.random(rows) < UNIFORM, even, drawn)

    def at(self, cell: _Core, shares: Floats) -> Floats:
        """The number in each core below which a share of what is expected there lies."""
        return self._inside(cell, np.full(len(shares), 0.5), shares)

    def _inside(self, cell: _Core, which: Floats, place: Floats) -> Floats:
        """By two numbers from 0 to 1: for the component, and for the place within its part."""
        mean, deviation = self.expected()
        low, high = self._standard(cell.low, cell.high)
        mass = self.log_shares + log_normal_mass(low, high)
        reached = np.exp(mass - np.logaddexp.reduce(mass, axis=1, keepdims=True)).cumsum(axis=1)
        chosen = np.minimum((reached < which[:, None]).sum(axis=1), reached.shape[1] - 1)
        rows = np.arange(len(reached))
        inside = inverse_normal(low[rows, chosen], high[rows, chosen], place)
        placed = self.power.back(mean[rows, chosen] + deviation[chosen] * inside)
        return np.clip(placed, cell.low, cell.high)

    def _standard(self, *x: Floats) -> list[Floats]:
        """Numbers `[N]` by how far each component expects them elsewhere, `[N, C]` each."""
        mean, deviation = self.expected()
        return [(self.power.to(each)[:, None] - mean) / deviation for each in x]

    def _log_density(self, x: Floats, step: float) -> Floats:
        """Of each component, `[N, C]`; on a grid the average over a step.

        No narrow Gaussian can exceed that.
        """
        if step:
            return log_normal_mass(*self._standard(x - step / 2, x + step / 2)) - np.log(step)
        density = log_normal_density(self._standard(x)[0]) - np.log(self.expected()[1])
        return density + self.power.log_slope(x)[:, None]

    def go_on(self, bins: Bins, x: Floats) -> None:
        """Take a column's numbers as known; a missing one is as expected."""
        seen = ~np.isnan(x)
        there = np.where(seen, x, 0.0)
        self.residuals[:, :, self.j] = np.where(seen[:, None], self._standard(there)[0], 0.0)
        log_density = self._log_density(there, bins.step)
        self.log_shares = self.log_shares + np.where(seen[:, None], log_density, 0.0)
        # Only their differences count.
        self.log_shares -= self.log_shares.max(axis=1, keepdims=True)
        self.j += 1
