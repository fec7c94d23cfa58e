"""Fitting the Gaussian mixture that places numbers in their bins, by EM on training rows.

The better numbers are placed, the wider bins may be: rows that were held out choose how many
neighbouring bins are joined, by what latent classes over the bins and the mixture within them give.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from wakesleep.schema.binning import joined
from wakesleep.schema.bins import Bins
from wakesleep.schema.encoded import Encoded
from wakesleep.schema.frame import Frame
from wakesleep.schema.latent_classes import LatentClasses, Search
from wakesleep.schema.normal import moments
from wakesleep.schema.numbers import NumberColumn
from wakesleep.schema.powers import Power, best_power
from wakesleep.schema.schema import Schema
from wakesleep.schema.within import Floats, Within

COMPONENTS = (1, 2, 3, 5)
"""Numbers of Gaussians that are tried; rows that were held out choose, or that there is none."""
FEWEST_ROWS = 20
"""Complete rows below which none is fitted."""
ROWS = 5000
"""The most training rows that are looked at, evenly spaced."""
MOST_COLUMNS = 60
FOLDS = 5
"""Parts of the rows, each of which is held out once to choose."""
ITERATIONS = 50
REFILLS = 5
"""How often gaps are drawn anew, where rows with gaps teach the mixture."""
SETTLED = 1e-3
"""Nats per row that a round of EM must gain to be followed by another."""
FLOOR = 1e-4
"""Added to variances, of which a column has one in all."""
SEED = 0


JOINED = (1, 2, 4)
"""How many neighbouring bins may become one."""
FEWEST_BINS = 3
"""That a column is left with."""
CHOOSING_ROWS = (50, 1000)
"""The fewest rows that choose it, and how many are looked at."""
ROWS_HELD_OUT = 500
"""Folds are held out until all of them together would have had so many rows."""
LARGEST = 1e150
"""Squares of larger numbers overflow: they stay uniform in their bins."""
CLASSES = (1, 4, 12)
SOME = 2
"""Latent classes and Gaussians, where it is only chosen how wide bins are."""
MOST_ROWS = 5000
"""Training rows above which bins stay as they are: there are enough for a model of bits."""


def with_numbers_placed(schema: Schema, frame: Frame, *, may_join: bool) -> Schema:
    """The schema with a mixture within its bins, and wider bins if that is better."""
    chosen = np.unique(np.linspace(0, len(frame) - 1, min(ROWS, len(frame))).astype(int))
    rows = frame.take(chosen)
    rows = rows.take(_shuffled(schema.encode(rows)))
    within = fit_within(schema, schema.encode(rows))
    best = dataclasses.replace(schema, within=within)
    fewest, most = CHOOSING_ROWS
    if len(_numbers(schema)) < 2 or not may_join or not fewest <= len(frame) <= MOST_ROWS:
        return best
    some = rows.take(np.arange(min(most, len(rows))))
    options = [joined_schema(schema, many) for many in JOINED]
    wider = max(options, key=lambda option: _held_out_score(option, option.encode(some)))
    if wider is options[0]:
        return best
    return dataclasses.replace(wider, within=fit_within(wider, wider.encode(rows)))


def _shuffled(encoded: Encoded) -> npt.NDArray[np.intp]:
    """The numbers of the rows in an order that does not depend on the one they came in."""
    values = np.nan_to_num(encoded.within, nan=-np.inf)
    alike = np.lexsort((*values.T, *encoded.codes.T))
    return alike[np.random.default_rng(SEED).permutation(len(alike))]


def joined_schema(schema: Schema, many: int) -> Schema:
    """With so many neighbouring bins in one, but for columns that would have fewer than three."""
    columns = tuple(
        dataclasses.replace(column, bins=joined(column.bins, _affordable(column.bins, many)))
        if isinstance(column, NumberColumn)
        else column
        for column in schema.columns
    )
    return dataclasses.replace(schema, columns=columns)


def _affordable(bins: Bins, many: int) -> int:
    return max(1, min(many, len(bins.lower) // FEWEST_BINS))


def _held_out_score(schema: Schema, encoded: Encoded) -> float:
    """The log-likelihood of rows in the table's units, each by what other folds taught."""
    scores = []
    # Few rows need every fold to tell; many would only take longer.
    for held in _folds(len(encoded))[: max(1, ROWS_HELD_OUT // len(encoded))]:
        known, rest = encoded.take(~held), encoded.take(held)
        classes = LatentClasses.fit(
            known.codes, schema.states, rest.codes, search=Search(counts=CLASSES)
        )
        placed = dataclasses.replace(schema, within=fit_within(schema, known, (SOME,)))
        scores.append(classes.log_prob(rest.codes) + placed.row_measure(rest))
    return float(np.concatenate(scores).mean())


def _numbers(schema: Schema) -> list[tuple[int, Bins]]:
    """The columns of numbers, with their places among all that are modelled."""
    return [
        (group, column.bins)
        for group, column in enumerate(schema.modelled)
        if isinstance(column, NumberColumn)
    ]


def fit_within(
    schema: Schema, encoded: Encoded, components: tuple[int, ...] = COMPONENTS
) -> Within | None:
    """The mixture for the numbers of these training rows; None where it would not help.

    Of several numbers of components rows choose; a single one is taken as it is.

    Rows with all numbers teach it, and those with gaps too where they are more than the others.
    Where the bins hold a single value each there is nothing to place.
    """
    numbers = _numbers(schema)
    if not 2 <= len(numbers) <= MOST_COLUMNS or not any(_is_wide(bins) for _, bins in numbers):
        return None
    groups, bins = [group for group, _ in numbers], [each for _, each in numbers]
    values = encoded.within[:, groups]
    taught = _teaching(values)
    if len(taught) < FEWEST_ROWS or np.nanmax(np.abs(values)) > LARGEST:
        return None
    rows = _Numbers(tuple(groups), bins, encoded.codes[taught][:, groups], values[taught])
    powers = tuple(best_power(column) for column in rows.values.T)
    if len(components) == 1:
        return rows.fit(components[0], powers)
    # Where no column wants a power they are the same, and tried once.
    options = dict.fromkeys(((Power(),) * len(groups), powers))
    tried = [(*rows.best_count(components, each), each) for each in options]
    _, best, scales = max(tried, key=lambda one: one[0])
    return rows.fit(best, scales) if best else None


def _teaching(values: Floats) -> npt.NDArray[np.intp]:
    """The rows that teach the mixture: at most `ROWS` of them, evenly spaced."""
    gaps = np.isnan(values)
    rows = np.flatnonzero(~gaps.any(axis=1))
    if len(rows) < len(values) / 2:
        rows = np.flatnonzero((~gaps).sum(axis=1) >= 2)
    if not (~gaps[rows]).any(axis=0).all():
        return rows[:0]
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(ROWS, len(rows))).astype(int))]


def _folds(rows: int) -> list[npt.NDArray[np.bool_]]:
    """Which rows are held out, fold by fold."""
    return [np.arange(rows) % FOLDS == fold for fold in range(FOLDS)]


def _is_wide(bins: Bins) -> bool:
    """Whether a bin has more than one value."""
    return bool(((bins.upper - bins.lower) > 1.5 * bins.step).any())


class _Numbers:
    """Rows of numbers; NaN is missing."""

    def __init__(
        self,
        groups: tuple[int, ...],
        bins: list[Bins],
        codes: npt.NDArray[np.int32],
        values: Floats,
    ):
        self.groups, self.bins, self.codes, self.values = groups, bins, codes, values

    def take(self, rows: npt.NDArray[np.bool_]) -> "_Numbers":
        return _Numbers(self.groups, self.bins, self.codes[rows], self.values[rows])

    def gain(self, within: Within) -> Floats:
        """Each row's nats over numbers that are uniform in their bins, `[N]`."""
        return within.log_ratio(self.codes, self.values, self.bins)

    def best_count(
        self, components: tuple[int, ...], powers: tuple[Power, ...]
    ) -> tuple[float, int]:
        """What numbers that were held out gain in all, and with how many Gaussians; 0 for none."""
        best_gain, best = 0.0, 0
        for count in components:
            gain = sum(
                float(self.take(held).gain(self.take(~held).fit(count, powers)).sum())
                for held in _folds(len(self.values))
            )
            if gain <= best_gain:
                break
            best_gain, best = gain, count
        return best_gain, best

    def fit(self, components: int, powers: tuple[Power, ...]) -> Within:
        """EM from the nearest of some rows, covariances pulled towards their common one."""
        rng = np.random.default_rng(SEED)
        steps = np.array([bins.step for bins in self.bins])
        # On a grid a value stands for all that is rounded to it.
        values = self.values + rng.uniform(-0.5, 0.5, self.values.shape) * steps
        values = np.stack([p.to(x) for p, x in zip(powers, values.T, strict=True)], axis=1)
        centre, spread = moments(values)
        z = (values - centre) / spread
        gaps = np.isnan(z)
        z[gaps] = rng.normal(size=int(gaps.sum()))
        shares = _nearest(z, components, rng)
        log_weights, means, factors, shares = _settled(z, shares)
        for _ in range(REFILLS if gaps.any() else 0):
            z = _refilled(z, gaps, (log_weights, means, factors), rng)
            log_weights, means, factors, shares = _settled(z, shares)
        return Within(self.groups, powers, centre, spread, log_weights, means, factors)


def _settled(z: Floats, shares: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """EM until a round gains little: log weights, means, factors, and the rows' shares."""
    last = -np.inf
    for _ in range(ITERATIONS):
        log_weights, means, factors = _maximised(z, shares)
        joint = log_weights + _log_densities(z, means, factors)
        log_prob = np.logaddexp.reduce(joint, axis=1)
        if log_prob.mean() - last < SETTLED:
            break
        last, shares = log_prob.mean(), np.exp(joint - log_prob[:, None])
    return log_weights, means, factors, shares


def _refilled(
    z: Floats,
    gaps: npt.NDArray[np.bool_],
    mixture: tuple[Floats, Floats, Floats],
    rng: np.random.Generator,
) -> Floats:
    """The rows with their gaps drawn anew from the mixture, given what was observed.

    A Gaussian's draw given some of its numbers is any draw of it, moved by what these tell.
    """
    log_weights, means, factors = mixture
    partial = np.flatnonzero(gaps.any(axis=1))
    seen, out, drawn = ~gaps[partial], z.copy(), []
    log_shares = np.tile(log_weights, (len(partial), 1))
    for c, (mean, factor) in enumerate(zip(means, factors, strict=True)):
        covariance = factor @ factor.T
        # Of what was observed alone: ones in the diagonal stand for the rest.
        both = seen[:, :, None] & seen[:, None, :]
        own = np.where(both, covariance, np.eye(len(mean)))
        apart = np.where(seen, z[partial] - mean, 0.0)
        log_shares[:, c] -= 0.5 * np.einsum("ni,ni->n", apart, _solved(own, apart))
        log_shares[:, c] -= 0.5 * np.linalg.slogdet(own)[1]
        free = rng.normal(size=apart.shape) @ factor.T
        tells = _solved(own, np.where(seen, apart - free, 0.0))
        drawn.append(mean + free + tells @ covariance)
    noise = rng.gumbel(size=log_shares.shape)
    chosen = np.stack(drawn, axis=1)[np.arange(len(partial)), (log_shares + noise).argmax(axis=1)]
    out[partial] = np.where(seen, z[partial], chosen)
    return out


def _solved(matrices: Floats, vectors: Floats) -> Floats:
    """Each matrix `[N, J, J]` divided into its vector `[N, J]`."""
    return np.asarray(np.linalg.solve(matrices, vectors[:, :, None])[:, :, 0])


def _nearest(z: Floats, components: int, rng: np.random.Generator) -> Floats:
    """Each row with the nearest of some rows, `[N, C]`."""
    centres = z[rng.choice(len(z), components, replace=False)]
    distances = ((z[:, None] - centres) ** 2).sum(axis=2)
    return np.asarray(distances.argmin(axis=1)[:, None] == np.arange(components), np.float64)


def _maximised(z: Floats, shares: Floats) -> tuple[Floats, Floats, Floats]:
    """Log weights, means and Cholesky factors; each component is given as many rows as columns."""
    counts = shares.sum(axis=0)
    weights = counts + 1
    means = (shares.T @ z) / np.maximum(counts, 1e-9)[:, None]
    # Matrix products, component by component: all at once they would be slow sums.
    apart = [z - mean for mean in means]
    scatter = np.stack([(each.T * own) @ each for each, own in zip(apart, shares.T, strict=True)])
    common, columns = scatter.sum(axis=0) / len(z), z.shape[1]
    covariances = (scatter + columns * common) / (counts + columns)[:, None, None]
    factors = np.linalg.cholesky(covariances + FLOOR * np.eye(columns))
    return np.log(weights / weights.sum()), means, factors


def _log_densities(z: Floats, means: Floats, factors: Floats) -> Floats:
    """Of each row by each component, `[N, C]`."""
    log_scale = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    pairs = zip(means, np.linalg.inv(factors), strict=True)
    quadratic = np.stack([np.square((z - m) @ F.T).sum(axis=1) for m, F in pairs], axis=1)
    return np.asarray(-0.5 * (quadratic + z.shape[1] * np.log(2 * np.pi)) - log_scale)
