"""Ranges of numbers: how much of each bin lies in them, and draws from within.

A bin has three parts, below its core, the core, and above it (see `Bins`). A range cuts each.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wakesleep.schema.bins import Bins

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


class Range(NamedTuple):
    """From `low` to `high`, both included; either may be infinite."""

    low: float
    high: float


def merged(ranges: Sequence[Range]) -> tuple[Range, ...]:
    """The same numbers in ranges that do not overlap, in order."""
    result: list[Range] = []
    for one in sorted(ranges):
        if result and one.low <= result[-1].high:
            result[-1] = Range(result[-1].low, max(result[-1].high, one.high))
        else:
            result.append(one)
    return tuple(result)


def shares(bins: Bins, ranges: Sequence[Range]) -> Floats:
    """The share of each state's probability that lies in the ranges, `[K + A]`.

    A single number that is on no grid has no probability: its bin counts as a whole.
    """
    total = np.zeros(bins.states)
    for one in merged(ranges):
        total[: len(bins.lower)] += _masses(bins, np.arange(len(bins.lower)), one).sum(1)
        total[len(bins.lower) :] += (bins.atoms >= one.low) & (bins.atoms <= one.high)
        if one.low == one.high and bins.decimals is None:
            total[bins.codes(np.array([one.low]))] = 1.0
    return np.minimum(total, 1.0)


def draw_within(
    bins: Bins, codes: Codes, ranges: Sequence[Range], rng: np.random.Generator
) -> Floats:
    """A value in the ranges from each state, whose share there must not be 0."""
    values = np.empty(len(codes))
    atoms = codes >= len(bins.lower)
    values[atoms] = bins.atoms[codes[atoms] - len(bins.lower)] if atoms.any() else 0.0
    rows = np.flatnonzero(~atoms)
    if not len(rows):
        return values
    k, apart = codes[rows], merged(ranges)
    masses = np.stack([_masses(bins, k, one).sum(1) for one in apart], axis=1)
    points = np.array([one.low == one.high and bins.decimals is None for one in apart])
    # A point's bin counts as a whole where no wider range reaches into it.
    alone = points & (np.stack([bins.codes(np.array([r.low])) for r in apart], 1)[0] == k[:, None])
    masses = np.where(alone & (masses.sum(1, keepdims=True) == 0), 1.0, masses)
    chosen = _choose(masses, rng)
    for number, one in enumerate(apart):
        own = rows[chosen == number]
        values[own] = one.low if points[number] else _draw(bins, codes[own], one, rng)
    return values


def _choose(masses: Floats, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """One of the columns for each row, as likely as its mass."""
    total = masses.cumsum(axis=1)
    place = rng.random(len(masses)) * total[:, -1]
    return (total > place[:, None]).argmax(axis=1)


def _spread(bins: Bins, one: Range) -> Range:
    """On a grid, what rounds to a number in the range."""
    if bins.decimals is None:
        return one
    scale = 10.0**bins.decimals
    half = 0.5 / scale
    low = np.ceil(np.round(one.low * scale, 6)) / scale - half
    high = np.floor(np.round(one.high * scale, 6)) / scale + half
    return Range(float(low), float(high))


def _parts(bins: Bins, k: Codes, one: Range) -> tuple[Floats, Floats]:
    """Where the range begins and ends in each of a bin's three parts, `[N, 3]`, as shares of it.

    Shares count upwards in the core and away from it on both sides.
    """
    low, high = _spread(bins, one)
    lower, upper = bins.lower[k], bins.upper[k]
    width = np.where(upper > lower, upper - lower, 1.0)
    start = np.clip((low - lower) / width, 0, 1)
    stop = np.clip((high - lower) / width, 0, 1)
    point = upper == lower
    inside = (low <= lower) & (high >= lower)
    start, stop = np.where(point, 0.0, start), np.where(point, inside * 1.0, stop)
    below = _away(bins, k, (lower - high, lower - low), upper=False)
    above = _away(bins, k, (low - upper, high - upper), upper=True)
    starts = np.stack([below[0], start, above[0]], axis=1)
    stops = np.stack([below[1], stop, above[1]], axis=1)
    return starts, np.maximum(stops, starts)


def _away(bins: Bins, k: Codes, distances: tuple[Floats, Floats], *, upper: bool) -> list[Floats]:
    """Distances from a core as shares of what its bin has on that side."""
    is_tail, gap = bins.is_tail(k, upper), bins.gap(k, upper)
    return [
        np.where(
            is_tail,
            -np.expm1(-np.maximum(distance, 0) / bins.scales[upper]),
            np.clip(distance / np.where(gap > 0, gap, 1.0), 0, 1),
        )
        for distance in distances
    ]


def _weights(bins: Bins, k: Codes) -> Floats:
    """The probabilities of a bin's three parts, `[N, 3]`."""
    left, right = bins.left[k], bins.right[k]
    return np.stack([left, 1 - left - right, right], axis=1)


def _masses(bins: Bins, k: Codes, one: Range) -> Floats:
    """The probability of the range in each part, `[N, 3]`."""
    starts, stops = _parts(bins, k, one)
    return _weights(bins, k) * (stops - starts)


def _draw(bins: Bins, k: Codes, one: Range, rng: np.random.Generator) -> Floats:
    starts, stops = _parts(bins, k, one)
    part = _choose(_weights(bins, k) * (stops - starts), rng)
    rows = np.arange(len(k))
    share = starts[rows, part] + rng.random(len(k)) * (stops - starts)[rows, part]
    core = bins.lower[k] + share * (bins.upper[k] - bins.lower[k])
    low = bins.lower[k] - _distance(bins, k, share, upper=False)
    high = bins.upper[k] + _distance(bins, k, share, upper=True)
    values = np.select([part == 0, part == 1], [low, core], high)
    # Rounding stays in the bin, and the range's ends are on the grid or between two of its points.
    return np.clip(bins.rounded(values, k), one.low, one.high)


def _distance(bins: Bins, k: Codes, share: Floats, *, upper: bool) -> Floats:
    far = -np.log1p(-np.minimum(share, 1 - 1e-16)) * bins.scales[upper]
    return np.where(bins.is_tail(k, upper), far, share * bins.gap(k, upper))
