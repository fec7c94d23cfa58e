"""Where the bins of a number column are: by quantile, atoms apart."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wakesleep.schema.bins import Bins, Floats

MOST_BINS = 64
"""However many rows there are."""
ATOM_SHARE = 0.1
"""The least share of a column's rows that an atom has."""
END_SHARE = 0.02
"""The same at the ends of the range, where zeros and caps are."""
ATOM_COUNT = 5
"""The least number of rows that an atom has."""
ATOM_CONTRAST = 8
"""How many times the median row count of a distinct value an atom has."""

Counts = npt.NDArray[np.int64]


def bin_count(rows: int) -> int:
    """2 N^(1/3), from 2 to 64.

    The histogram of least squared error has a number of bins in proportion to N^(1/3): more have
    too few rows each to tell their probabilities, fewer smooth the shape away. The factor 2 is
    Rice's rule.

    >>> bin_count(20), bin_count(1000), bin_count(10**6)
    (5, 20, 64)
    """
    return int(np.clip(round(2 * rows ** (1 / 3)), 2, MOST_BINS))


@dataclass(frozen=True)
class Grid:
    """What the values of a column are multiples of: 10^-decimals, or nothing in particular."""

    decimals: int | None
    whole: bool

    @property
    def step(self) -> float | None:
        """The distance of two neighbours."""
        return None if self.decimals is None else 10.0**-self.decimals

    def between(self, low: Floats, high: Floats) -> Floats:
        """A bound between neighbouring values, half a step from every multiple."""
        if self.decimals is None:
            return low + (high - low) / 2
        scale = 10.0**self.decimals
        ends = np.rint(low * scale) + np.rint(high * scale)
        return (np.floor(ends / 2) + 0.5) / scale

    def beside(self, value: float, side: int) -> float:
        """Half a step from a value, below (-1) or above (1); the value itself without a grid."""
        if self.decimals is None:
            return float(value)
        scale = 10.0**self.decimals
        return float((np.rint(value * scale) + side * 0.5) / scale)


@dataclass(frozen=True, eq=False)
class _Pile:
    """Distinct values in one bin: how many rows, and whether it is one value that fills it."""

    low: float
    high: float
    rows: int
    single: bool


def make_bins(values: Floats, grid: Grid, bins: int | None = None, *, atoms: bool = True) -> Bins:
    """Bins for the values of the training rows.

    Args:
        values: those observed, at least one.
        grid: what they are multiples of.
        bins: how many; None for `bin_count`.
        atoms: whether values may have probabilities of their own; otherwise reals have densities
            everywhere.
    """
    distinct, counts = np.unique(values, return_counts=True)
    atom = _atoms(counts) if atoms and not grid.whole else np.zeros(len(distinct), bool)
    if atom.all():
        atom[:] = False
    elif bins is not None:
        atom &= np.argsort(np.argsort(np.where(atom, -counts, 1), kind="stable")) < bins - 1
    apart, distinct, counts = distinct[atom], distinct[~atom], counts[~atom]
    asked = bin_count(int(counts.sum())) if bins is None else bins - len(apart)
    # Off a grid a single value has no width of its own: it is a point, and only among points.
    points = atoms and len(distinct) <= asked
    piles = _piles(distinct, counts, max(1, asked), points or grid.decimals is not None)
    if bins is not None:
        while len(piles) > max(1, asked):
            piles = _joined(piles)
    spread = float(values.max() - values.min())
    return _laid_out(piles, grid, apart, spread)


def _atoms(counts: Counts) -> npt.NDArray[np.bool_]:
    """Values that stick out: an exact zero or a cap, not the neighbours on a coarse grid."""
    shares = np.full(len(counts), ATOM_SHARE)
    shares[[0, -1]] = END_SHARE
    least = max(ATOM_COUNT, ATOM_CONTRAST * float(np.median(counts)))
    return (counts >= least) & (counts >= shares * counts.sum())


def _piles(distinct: Floats, counts: Counts, bins: int, singles: bool) -> list[_Pile]:
    """Values with as many rows as a bin should have stand alone; quantiles cut the rest."""
    target = counts.sum() / bins
    alone = (counts >= target) | (len(distinct) <= bins)
    piles: list[_Pile] = []
    start = 0
    for end in [*np.flatnonzero(alone).tolist(), len(distinct)]:
        piles += _quantiles(distinct[start:end], counts[start:end], target)
        if end < len(distinct):
            value, rows = float(distinct[end]), int(counts[end])
            piles.append(_Pile(value, value, rows, singles and rows > 1))
        start = end + 1
    return piles


def _quantiles(distinct: Floats, counts: Counts, target: float) -> list[_Pile]:
    if not len(distinct):
        return []
    total = int(counts.sum())
    parts = int(np.clip(round(total / target), 1, len(distinct)))
    ends = np.searchsorted(np.cumsum(counts), total * np.arange(1, parts) / parts)
    groups = np.split(np.arange(len(distinct)), np.unique(ends) + 1)
    return [
        _Pile(float(distinct[g[0]]), float(distinct[g[-1]]), int(counts[g].sum()), False)
        for g in groups
        if len(g)
    ]


def _joined(piles: list[_Pile]) -> list[_Pile]:
    """One bin fewer: the two neighbours with the fewest rows become one."""
    at = min(range(len(piles) - 1), key=lambda i: piles[i].rows + piles[i + 1].rows)
    first, second = piles[at], piles[at + 1]
    both = _Pile(first.low, second.high, first.rows + second.rows, False)
    return [*piles[:at], both, *piles[at + 2 :]]


def joined(bins: Bins, most: int) -> Bins:
    """Bins of which at most so many neighbours became one; those of a single value stay."""
    single = bins.upper - bins.lower <= 1.5 * bins.step
    first, run = [], 0
    for k, alone in enumerate(single):
        run = 0 if alone or run == most or (k and single[k - 1]) else run
        if not run:
            first.append(k)
        run += 1
    start, end = np.array(first), np.array([*first[1:], len(single)]) - 1
    # A share of a bin is less of what it becomes a part of.
    parts = end - start + 1
    return dataclasses.replace(
        bins,
        lower=bins.lower[start],
        upper=bins.upper[end],
        cuts=bins.cuts[end[:-1]],
        left=bins.left[start] / parts,
        right=bins.right[end] / parts,
    )


def _laid_out(piles: list[_Pile], grid: Grid, atoms: Floats, spread: float) -> Bins:
    low, high = (np.array([getattr(pile, end) for pile in piles]) for end in ("low", "high"))
    cuts = grid.between(high[:-1], low[1:])
    first, last = grid.beside(low[0], -1), grid.beside(high[-1], 1)
    if first == last and not piles[0].single:
        # One value on no grid that is no atom: some width, in proportion to the column's.
        half = (spread or abs(first) or 1.0) / 100
        first, last = first - half, last + half
    lower, upper = np.r_[first, cuts], np.r_[cuts, last]
    for k, pile in enumerate(piles):
        if pile.single:
            lower[k], upper[k] = grid.beside(pile.low, -1), grid.beside(pile.low, 1)
    left, right = _shares(piles, lower - np.r_[-np.inf, cuts], np.r_[cuts, np.inf] - upper)
    wide = max((last - first) / len(piles), grid.step or 0.0) or spread or abs(first) or 1.0
    scales = (max(upper[0] - lower[0], wide), max(upper[-1] - lower[-1], wide))
    return Bins(
        lower,
        upper,
        cuts,
        left,
        right,
        (float(scales[0]), float(scales[1])),
        atoms,
        grid.decimals,
        grid.whole,
    )


def _shares(piles: list[_Pile], below: Floats, above: Floats) -> tuple[Floats, Floats]:
    """1 / (n + 1) of a bin with n rows for what it owns beside its core, half to each side.

    That is Laplace's chance that the next value is a new one.
    """
    rows = np.array([pile.rows for pile in piles])
    sides = (below > 0).astype(float) + (above > 0)
    share = 1.0 / (rows + 1.0) / np.maximum(sides, 1.0)
    return np.where(below > 0, share, 0.0), np.where(above > 0, share, 0.0)
