"""A mixture of mixed leaves by EM: latent classes where all columns are levels.

What a statistician would write first. Levels have a categorical leaf, whole numbers a Gaussian that
is integrated over each number's unit step, reals a Gaussian, atoms a probability of their own: the
same measure as `Schema.log_measure`, so log-likelihoods compare. Missing cells are left out.
"""

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import logsumexp, ndtr

from wakesleep.schema import (
    Column,
    Encoded,
    Frame,
    LeftOutColumn,
    NumberColumn,
    Schema,
    to_native,
)

COMPONENTS = (1, 2, 4, 8, 16, 32)
LEAVES = ("gaussian", "mixed", "bins")
MOSTLY_SINGLE = 0.5
"""A column of which as many bins hold a single value is one of few values."""
ITERATIONS = 100
TOLERANCE = 3e-4
"""Nats per row that a round of EM must gain to be followed by another."""
PSEUDO_COUNT = 0.5
NARROWEST = 0.02
"""Of a column's standard deviation: no component is narrower."""


class Data(NamedTuple):
    """Rows as a mixture sees them: a list of levels `[N]` with -1 for missing, and of numbers.

    A number is NaN where it is missing or an atom; which atom it is, is a column of levels.
    `measure` `[N]` is what the log-probability of bins lacks to be that of values.
    """

    levels: list[np.ndarray]
    states: list[int]
    numbers: list[np.ndarray]
    whole: list[bool]
    rows: int
    measure: np.ndarray


def as_data(schema: Schema, encoded: Encoded, leaves: str = "gaussian") -> Data:
    """The values that a schema reads: number columns as numbers, or by the states of their bins.

    `leaves` is "gaussian" for all number columns, "bins" for none of them, or "mixed" for those
    with many values, while those with few have a probability for each.
    """
    levels, states, numbers, whole = [], [], [], []
    measure = np.zeros(len(encoded))
    for group, column in enumerate(schema.modelled):
        codes = encoded.codes[:, group]
        if not is_gaussian(column, leaves):
            levels.append(codes)
            states.append(encoded.states[group])
            within = encoded.within[:, group]
            measure += column.log_measure(codes.astype(np.int64), within)
            continue
        assert isinstance(column, NumberColumn)
        bins = len(column.bins.lower)
        if column.bins.atoms.size:
            levels.append(np.where(codes < 0, -1, np.maximum(codes - bins + 1, 0)))
            states.append(1 + column.bins.atoms.size)
        inside = (codes >= 0) & (codes < bins)
        numbers.append(np.where(inside, encoded.within[:, group], np.nan))
        whole.append(column.bins.whole)
    return Data(levels, states, numbers, whole, len(encoded), measure)


def is_gaussian(column: Column, leaves: str) -> bool:
    """Whether a column has Gaussian leaves."""
    if not isinstance(column, NumberColumn):
        return False
    single = (column.bins.upper - column.bins.lower <= 10.0 ** -(column.bins.decimals or 0)).mean()
    return leaves == "gaussian" or (leaves == "mixed" and single < MOSTLY_SINGLE)


class Mixture(NamedTuple):
    """Log weights `[M]`, a table `[M, states]` per column of levels, means, deviations `[J, M]`."""

    log_weights: np.ndarray
    tables: list[np.ndarray]
    means: np.ndarray
    deviations: np.ndarray

    def log_joint(self, data: Data) -> np.ndarray:
        """log p(component, row), `[N, M]`."""
        total = np.tile(self.log_weights, (data.rows, 1))
        for codes, table in zip(data.levels, self.tables, strict=True):
            seen = codes >= 0
            total[seen] += table.T[codes[seen]]
        for j, values in enumerate(data.numbers):
            seen = ~np.isnan(values)
            total[seen] += self._leaf(j, values[seen], data.whole[j])
        return total

    def _leaf(self, j: int, values: np.ndarray, whole: bool) -> np.ndarray:
        mean, deviation = self.means[j], self.deviations[j]
        z = (values[:, None] - mean) / deviation
        if not whole:
            return -0.5 * z**2 - np.log(deviation) - 0.5 * np.log(2 * np.pi)
        # By symmetry in the lower tail, where differences keep their digits.
        low, high = -np.abs(z) - 0.5 / deviation, -np.abs(z) + 0.5 / deviation
        return np.log(np.maximum(ndtr(high) - ndtr(low), 1e-300))

    def log_prob(self, data: Data) -> np.ndarray:
        return logsumexp(self.log_joint(data), axis=1) + data.measure

    def sample(
        self, count: int, rng: np.random.Generator
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Levels and numbers of new rows, a list of columns each."""
        which = rng.choice(len(self.log_weights), count, p=np.exp(self.log_weights))
        levels = [
            (rng.random(count)[:, None] > np.exp(table)[which].cumsum(1)[:, :-1]).sum(1)
            for table in self.tables
        ]
        numbers = [
            rng.normal(mean[which], deviation[which])
            for mean, deviation in zip(self.means, self.deviations, strict=True)
        ]
        return levels, numbers


def _spreads(data: Data) -> np.ndarray:
    return np.array([max(np.nanstd(values), 1e-12) for values in data.numbers])


def _maximise(data: Data, share: np.ndarray) -> Mixture:
    """Parameters for responsibilities `[N, M]`."""
    weights = share.sum(0) + PSEUDO_COUNT
    tables = []
    for codes, states in zip(data.levels, data.states, strict=True):
        counts = np.stack([share[codes == level].sum(0) for level in range(states)], axis=1)
        # One row's worth in all is spread over the levels.
        counts += PSEUDO_COUNT / states
        tables.append(np.log(counts / counts.sum(1, keepdims=True)))
    means, deviations = [], []
    for values, whole, spread in zip(data.numbers, data.whole, _spreads(data), strict=True):
        seen = ~np.isnan(values)
        part, x = share[seen], values[seen, None]
        total = part.sum(0) + 1e-9
        mean = ((part * x).sum(0) + 1e-9 * values[seen].mean()) / total
        variance = (part * (x - mean) ** 2).sum(0) / total
        # Sheppard: rounding to whole numbers added a twelfth.
        variance -= whole / 12
        means.append(mean)
        deviations.append(np.sqrt(np.maximum(variance, (NARROWEST * spread) ** 2)))
    none = np.zeros((0, share.shape[1]))
    return Mixture(
        np.log(weights / weights.sum()),
        tables,
        np.array(means) if means else none,
        np.array(deviations) if deviations else none,
    )


def _start(data: Data, components: int, rng: np.random.Generator) -> np.ndarray:
    """Responsibilities by the nearest of some rows, over all columns alike."""
    centres = rng.choice(data.rows, components, replace=components > data.rows)
    distance = rng.random((data.rows, components)) * 0.1
    for codes in data.levels:
        distance += codes[:, None] != codes[centres]
    for values, spread in zip(data.numbers, _spreads(data), strict=True):
        apart = np.abs(values[:, None] - values[centres]) / spread
        distance += np.where(np.isnan(apart), 1.0, np.minimum(apart, 3.0))
    return 0.9 * np.eye(components)[distance.argmin(1)] + 0.1 / components


def fit_components(data: Data, components: int, rng: np.random.Generator) -> Mixture:
    """One run of EM."""
    mixture, before = _maximise(data, _start(data, components, rng)), -np.inf
    for _ in range(ITERATIONS):
        joint = mixture.log_joint(data)
        rows = logsumexp(joint, axis=1)
        now = float(rows.mean())
        if now - before < TOLERANCE:
            break
        mixture, before = _maximise(data, np.exp(joint - rows[:, None])), now
    return mixture


@dataclass(frozen=True)
class Fitted:
    """The mixture that validation rows chose."""

    schema: Schema
    leaves: str
    components: int
    mixture: Mixture

    def log_prob(self, encoded: Encoded) -> np.ndarray:
        """In the table's units."""
        return self.mixture.log_prob(as_data(self.schema, encoded, self.leaves))


def fit_mixture(schema: Schema, train: Encoded, valid: Encoded, seed: int) -> Fitted:
    """The number of components and the kind of leaves by validation rows."""
    best: tuple[float, Fitted] | None = None
    numeric = any(isinstance(column, NumberColumn) for column in schema.modelled)
    for leaves in LEAVES if numeric else LEAVES[:1]:
        known, held_out = (as_data(schema, part, leaves) for part in (train, valid))
        for components in COMPONENTS:
            if components > known.rows // 5:
                break
            mixture = fit_components(known, components, np.random.default_rng([seed, components]))
            score = float(mixture.log_prob(held_out).mean())
            if best is None or score > best[0]:
                best = score, Fitted(schema, leaves, components, mixture)
    assert best is not None
    return best[1]


def sample_frame(fitted: Fitted, count: int, like: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Drawn rows with the names, levels and types of a table."""
    rng = np.random.default_rng(seed)
    levels, numbers = map(iter, fitted.mixture.sample(count, rng))
    cells = []
    for column in fitted.schema.columns:
        if isinstance(column, LeftOutColumn):
            continue
        codes = np.zeros(count, np.int64)
        if not is_gaussian(column, fitted.leaves):
            codes = next(levels) if column.states else codes
            cells.append(column.cells(codes, rng, True))
            continue
        assert isinstance(column, NumberColumn)
        values = next(numbers)
        if column.bins.decimals is not None or column.bins.whole:
            values = np.round(values, column.bins.decimals or 0)
        if column.bins.atoms.size:
            atom = next(levels)
            values = np.where(atom > 0, column.bins.atoms[np.maximum(atom, 1) - 1], values)
        drawn = column.cells(codes, rng, True)
        cells.append(dataclasses.replace(drawn, values=values.astype(drawn.values.dtype)))
    return to_native(Frame(tuple(cells), count, "the mixture's rows"), like=like)
