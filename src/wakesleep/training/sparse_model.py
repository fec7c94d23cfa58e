"""Sparse regressions: an AR-SBN without latents of which most weights are exactly zero.

Each column is a logistic regression on those before it, and all of them are convex: an L1 penalty,
walked down from where hardly a weight is left, gives the best of its kind without a learning rate
or a seed. Few rows of many columns leave little else to be learned: a NADE with as many weights
learns such rows by heart, whatever its weight decay.

The penalty shrinks large weights as much as small ones. So it is taken once more from weights that
it left large, `RELAXED / (RELAXED + |w|)` of it (Candès, Wakin & Boyd 2008), where validation rows
are better off with that.
"""

from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax
from jaxtyping import Array, Float

from wakesleep.architecture import build
from wakesleep.data import ArrayRows, Dataset, as_bits
from wakesleep.layers import ARSBN
from wakesleep.layers.order import REVERSED
from wakesleep.models import HelmholtzMachine, Mixture
from wakesleep.training.arithmetic import FACTORIAL_RATE

ORDERS = (0, REVERSED, 1, 2)
"""Of the columns: forwards, backwards, and twice at random."""
MOST_ROWS = 5000
"""Of more rows than these a NADE learns more than linear regressions can say."""
SHARE = 0.1
"""Of the budget: what would take more is not tried."""
COMPILATION = 2.0
"""Seconds."""
PENALTIES = (16.0, 8.0, 5.6, 4.0, 2.8, 2.0, 1.4, 1.0, 0.5)
"""Nats that a unit of weight costs, over all rows; the path ends where it gets worse."""
RELAXED = 0.3
FACTORS = (0.6, 0.85, 1.2, 1.7)
"""Of the best penalty, times two, when it is taken from large weights."""
STEPS = (4, 2, 1)
"""The way down to the penalty that was found, in other orders."""
ITERATIONS = 40
"""Of FISTA (Beck & Teboulle 2009) for each penalty, from where the last one ended."""
POWERS = 30
"""Iterations for the largest eigenvalue of the columns' covariance."""


class Weights(NamedTuple):
    """Of all regressions, in the columns' order: W `[D, D]` for centred columns, and biases."""

    W: Float[Array, "D D"]
    b: Float[Array, " D"]


class _Path(NamedTuple):
    """The penalty that validation rows like best, and the factor of the relaxed one, if any."""

    penalty: float
    factor: float | None


def sparse_seconds(data: Dataset, budget: float | int) -> float:
    """What they take of a budget in seconds, at the rates of `arithmetic.py`; 0 if not tried.

    Two matrix products for each iteration, where an update of a layer has three.
    """
    if isinstance(data.train, ArrayRows) or data.masked or len(data.train) > MOST_ROWS:
        return 0.0
    solutions = len(PENALTIES) + len(FACTORS) + (len(ORDERS) - 1) * (len(STEPS) + 1)
    work = solutions * ITERATIONS * len(data.train) * data.features**2
    seconds = COMPILATION + 2 / 3 * work / FACTORIAL_RATE
    return seconds if seconds <= SHARE * budget else 0.0


def fit_sparse(data: Dataset) -> Mixture:
    """One for each of `ORDERS`, all with the penalty that validation rows choose for the first.

    They are mixed alike: few validation rows then have one weight to find for all of them.
    """
    first, *others = (_Regressions.of(data, order) for order in ORDERS)
    path, best = _search(first)
    machines = [first.machine(best), *(each.machine(_follow(each, path)) for each in others)]
    return Mixture(machines, np.zeros(len(machines)))


class _Table(NamedTuple):
    """Rows with their columns in order, the same centred, and where they are asked, `[N, D]`."""

    rows: Float[Array, "N D"]
    centred: Float[Array, "N D"]
    asked: Float[Array, "N D"]


@dataclass(frozen=True, eq=False)
class _Regressions:
    """The rows of a data set as regressions of its columns in an order.

    Attributes:
        empty: the machine whose weights are looked for.
        mean: of the training rows' columns in that order, `[D]`.
        allowed: 1 where a column may heed another, which is of an earlier group, `[D, D]`.
        train: what is learned from.
        valid: what judges.
    """

    empty: HelmholtzMachine
    mean: Float[Array, " D"]
    allowed: Float[Array, "D D"]
    train: _Table
    valid: _Table

    @classmethod
    def of(cls, data: Dataset, order: int) -> "_Regressions":
        """Those of a data set."""
        text = f"ar_sbn(order={order})" if order else "ar_sbn"
        empty = build(text, data.features, key=jax.random.key(0), groups=data.groups)
        assert isinstance(empty, HelmholtzMachine)
        take = _layer(empty).unit_order.take
        train, valid = (
            np.asarray(take(jnp.asarray(as_bits(table)[:], jnp.float32)))
            for table in (data.train, data.valid)
        )
        first = _group_starts(empty)
        allowed = np.arange(data.features) < first[:, None]
        mean = train.mean(axis=0)
        tables = (_table(rows, mean, first) for rows in (train, valid))
        return cls(empty, jnp.asarray(mean), jnp.asarray(allowed, jnp.float32), *tables)

    def start(self) -> Weights:
        """No weight, and the biases of independent columns."""
        ones, asked = (self.train.rows * self.train.asked).sum(0), self.train.asked.sum(0)
        mean = (ones + 0.5) / (asked + 1)
        return Weights(jnp.zeros_like(self.allowed), jnp.log(mean) - jnp.log1p(-mean))

    def score(self, weights: Weights) -> float:
        """The mean log-likelihood of validation rows."""
        return float(_log_likelihood(weights, self.valid))

    def solve(self, weights: Weights, penalty: Float[Array, "..."] | float) -> Weights:
        """From these weights on, with a penalty for all rows together."""
        each = jnp.broadcast_to(jnp.asarray(penalty, jnp.float32), self.allowed.shape)
        return _fista(self.train, self.allowed, weights, each / len(self.train.rows))

    def machine(self, weights: Weights) -> HelmholtzMachine:
        """The model with these weights."""
        layer = _layer(self.empty)
        biases = layer.unit_order.put_back(weights.b - weights.W @ self.mean)
        found = eqx.tree_at(lambda each: (each.S, each.b), layer, (weights.W, biases))
        return eqx.tree_at(lambda each: each.p[0], self.empty, found)


def _layer(machine: HelmholtzMachine) -> ARSBN:
    layer = machine.p[0]
    assert isinstance(layer, ARSBN)
    return layer


def _group_starts(machine: HelmholtzMachine) -> npt.NDArray[np.intp]:
    """For every place in the order, the first of its group, `[D]`."""
    numbers = np.repeat(np.arange(len(machine.groups)), machine.groups)
    units = _layer(machine).unit_order.units
    ordered = numbers[np.asarray(units)] if units else numbers
    begins = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    return np.maximum.accumulate(np.where(begins, np.arange(len(ordered)), 0))


def _table(
    rows: npt.NDArray[np.float32], mean: npt.NDArray[np.float32], first: npt.NDArray[np.intp]
) -> _Table:
    """A unit is asked as long as none of its group is 1, and the last of several never."""
    sums = rows.cumsum(axis=1) - rows
    known = sums - sums[:, first] > 0.5
    sizes = np.bincount(first, minlength=len(first))[first]
    last = (np.arange(len(first)) == first + sizes - 1) & (sizes > 1)
    asked = (~known & ~last).astype(np.float32)
    return _Table(jnp.asarray(rows), jnp.asarray(rows - mean), jnp.asarray(asked))


def _search(rows: _Regressions) -> tuple[_Path, Weights]:
    """Down the path until it gets worse, and then with large weights relieved."""
    best, best_score, penalty = rows.start(), -np.inf, PENALTIES[0]
    weights = best
    for each in PENALTIES:
        weights = rows.solve(weights, each)
        score = rows.score(weights)
        if score <= best_score:
            break
        best, best_score, penalty = weights, score, each
    path, plain = _Path(penalty, None), best
    for factor in FACTORS:
        weights = _relieved(rows, plain, penalty * factor)
        score = rows.score(weights)
        if score > best_score:
            best, best_score, path = weights, score, _Path(penalty, factor)
    return path, best


def _follow(rows: _Regressions, path: _Path) -> Weights:
    """The same penalties in another order of the columns, in fewer steps."""
    weights = rows.start()
    for step in STEPS:
        weights = rows.solve(weights, step * path.penalty)
    return weights if path.factor is None else _relieved(rows, weights, path.penalty * path.factor)


def _relieved(rows: _Regressions, weights: Weights, penalty: float) -> Weights:
    return rows.solve(weights, 2 * penalty * RELAXED / (RELAXED + jnp.abs(weights.W)))


@jax.jit
def _fista(
    train: _Table, allowed: Float[Array, "D D"], weights: Weights, penalty: Float[Array, "D D"]
) -> Weights:
    """Proximal gradient steps with momentum."""
    rows, centred, asked = train
    count, step = len(rows), 1 / _curvature(centred)

    def iterate(_: Array, state: tuple[Weights, Weights, Array]) -> tuple[Weights, Weights, Array]:
        now, ahead, speed = state
        error = asked * (jax.nn.sigmoid(centred @ ahead.W.T + ahead.b) - rows)
        moved = ahead.W - step * allowed * (error.T @ centred) / count
        W = jnp.sign(moved) * jnp.maximum(jnp.abs(moved) - step * penalty, 0)
        following = Weights(W, ahead.b - step * error.mean(axis=0))
        faster = (1 + jnp.sqrt(1 + 4 * speed**2)) / 2
        momentum = (speed - 1) / faster
        further = jax.tree.map(lambda new, old: new + momentum * (new - old), following, now)
        return following, further, faster

    return lax.fori_loop(0, ITERATIONS, iterate, (weights, weights, jnp.asarray(1.0)))[0]


def _curvature(centred: Float[Array, "N D"]) -> Float[Array, ""]:
    """No less than the largest second derivative of the mean loss: a quarter of an eigenvalue."""

    def power(_: Array, vector: Array) -> Array:
        longer = centred.T @ (centred @ vector)
        return longer / jnp.maximum(jnp.linalg.norm(longer), 1e-12)

    start = jnp.ones(centred.shape[1]) / jnp.sqrt(centred.shape[1])
    vector = lax.fori_loop(0, POWERS, power, start)
    largest = jnp.square(centred @ vector).sum() / len(centred)
    # The power method comes from below; the bias has a derivative of its own.
    return 0.25 * jnp.maximum(1.1 * largest, 1.0)


@jax.jit
def _log_likelihood(weights: Weights, table: _Table) -> Float[Array, ""]:
    logits = table.centred @ weights.W.T + weights.b
    terms = table.rows * logits - jax.nn.softplus(logits)
    return (table.asked * terms).sum(axis=1).mean()
