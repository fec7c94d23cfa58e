"""log Z of a machine whose top is undirected: listed where it is small, annealed elsewhere."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, Key
from scipy.special import logsumexp

from wakesleep.data import as_bits
from wakesleep.errors import UsageError
from wakesleep.inference.annealing import anneal_down, anneal_up, base_logits
from wakesleep.inference.resampling import systematic
from wakesleep.inference.rows import Rows, checked_rows, examples
from wakesleep.layers import RBM
from wakesleep.layers.rbm import SWEEPS
from wakesleep.models import HelmholtzMachine, LatentModel

MOST_BITS = 16
"""Z is a sum over the states of the smaller side of an RBM, listed up to so many units."""

RUNS = 100
TEMPERATURES = 5_000
MOST_TEMPERATURES = 40_000
NEAR = 0.5
"""Nats between the two sides that are near enough."""
QUICK_RUNS = 50
QUICK_TEMPERATURES = 500
"""Of the estimate that goes with a validation score, after every epoch."""

AT_ROWS = 7
"""Folded into the key for the latents of rows."""

_BLOCK = 4096


@dataclass(frozen=True)
class Normaliser:
    """log Z from both sides.

    Attributes:
        lower: by annealing up; low on average, as the logarithm of an unbiased estimate of Z.
        upper: by annealing down from samples of the RBM; high on average, if they are such. They
            are chains of Gibbs sweeps from rows of data, or, without such, from the ends of the
            runs up, resampled by their weights.
        lower_error: the standard error of `lower`.
        upper_error: that of `upper`.
        exact: whether Z was summed up instead: both sides are log Z, and the errors 0.
    """

    lower: float
    upper: float
    lower_error: float
    upper_error: float
    exact: bool

    @property
    def value(self) -> float:
        """The middle of the two sides."""
        return (self.lower + self.upper) / 2

    @property
    def half_width(self) -> float:
        """Of a 95% interval around the middle: half the gap, and the noise of the noisier side."""
        gap = abs(self.upper - self.lower) / 2
        return gap + 1.96 * max(self.lower_error, self.upper_error)


def log_normaliser(
    model: LatentModel | RBM,
    *,
    key: Key[Array, ""],
    rows: Any = None,
    runs: int = RUNS,
    temperatures: int | None = None,
) -> Normaliser:
    """log Z of the RBM at the top of a model, from both sides with their standard errors.

    Where one side of the RBM has no more than 16 units, Z is summed up exactly.

    Args:
        model: a machine with an undirected top, or an RBM by itself.
        key: the randomness.
        rows: data, where the chains start whose ends the runs down begin with. Chains that hardly
            move find there what runs up from independent bits may miss.
        runs: of annealed importance sampling, on each side.
        temperatures: steps of each run; more bring the two sides together. Without a number there
            are 5,000, and twice as many again, up to 40,000, while the sides are more than half a
            nat apart.

    >>> import jax, wakesleep as ws
    >>> model = ws.build("rbm 20", features=30, key=jax.random.key(0))
    >>> log_z = ws.log_normaliser(model, key=jax.random.key(1), temperatures=100)
    >>> bool(abs(log_z.upper - log_z.lower) < 0.5)
    True
    """
    rbm = undirected_top(model)
    if rbm is None:
        raise UsageError("this model is normalised already: only an undirected top has a log Z")
    if runs < 2 or (temperatures is not None and temperatures < 1):
        raise UsageError(
            f"annealing takes 2 runs and 1 temperature or more, not {runs} and {temperatures}"
        )
    if is_small(rbm):
        return summed_log_normaliser(rbm)
    start = None if rows is None else _states_of(model, rows, key, runs)
    if temperatures is not None:
        return _annealed(rbm, key, start, runs, temperatures)
    steps = TEMPERATURES
    while True:
        found = _annealed(rbm, key, start, runs, steps)
        if abs(found.upper - found.lower) <= NEAR or steps >= MOST_TEMPERATURES:
            return found
        steps *= 2


def _states_of(
    model: LatentModel | RBM, rows: Any, key: Key[Array, ""], count: int
) -> Float[Array, "R D"]:
    """States of the RBM's units that go with some rows, evenly spaced; by q, where it has one."""
    if isinstance(model, RBM):
        table: Rows = as_bits(rows, "rows")
    else:
        table = checked_rows(model, rows)
    chosen = np.linspace(0, len(table) - 1, count).astype(int)
    x = jax.tree.map(jnp.asarray, examples(table, chosen))
    if isinstance(model, HelmholtzMachine) and model.latent_sizes:
        top: Float[Array, "R 1 D"] = model.draw(jax.random.fold_in(key, AT_ROWS), x, 1).h[-1]
        return top[:, 0]
    states: Float[Array, "R D"] = x
    return states


def _annealed(
    rbm: RBM,
    key: Key[Array, ""],
    start: Float[Array, "R D"] | None,
    runs: int,
    temperatures: int,
) -> Normaliser:
    key_base, key_up, key_start, key_chain, key_down = jax.random.split(key, 5)
    a = base_logits(rbm, key_base, runs)
    up = anneal_up(rbm, key_up, a, runs, temperatures)
    if start is None:
        start = up.x[systematic(key_start, up.log_weights[None])[0]]
    chains = eqx.filter_jit(RBM.gibbs)(rbm, key_chain, start, SWEEPS)
    down = anneal_down(rbm, key_down, a, chains, temperatures)
    return Normaliser(
        float(up.log_normaliser),
        float(down.log_normaliser),
        float(up.standard_error),
        float(down.standard_error),
        exact=False,
    )


def quick_log_normaliser(model: LatentModel, key: Key[Array, ""], rows: Any) -> float:
    """log Z by few short runs, to compare models with; 0 for one that is normalised.

    The larger of the two sides: runs up find little of an RBM whose chains hardly move, and by
    them alone the worst of models would look best.
    """
    if undirected_top(model) is None:
        return 0.0
    found = log_normaliser(
        model, key=key, rows=rows, runs=QUICK_RUNS, temperatures=QUICK_TEMPERATURES
    )
    return max(found.lower, found.upper)


def undirected_top(model: LatentModel | RBM) -> RBM | None:
    """The RBM that a model's log p lacks the normaliser of, if there is one."""
    if isinstance(model, RBM):
        return model
    return model.undirected if isinstance(model, HelmholtzMachine) else None


def summed_log_normaliser(rbm: RBM) -> Normaliser:
    """log Z summed up; a sentence where there is too much to sum."""
    log_z = exact_log_normaliser(rbm)
    return Normaliser(log_z, log_z, 0.0, 0.0, exact=True)


def is_small(rbm: RBM) -> bool:
    """Whether Z can be summed up."""
    return min(rbm.size, rbm.units) <= MOST_BITS


def check_small(rbm: RBM) -> None:
    """Raise a `UsageError` where there is too much to sum up."""
    if not is_small(rbm):
        raise UsageError(
            f"the normaliser of an RBM is summed exactly up to {MOST_BITS} units on one side, but "
            f"this one has {rbm.size} and {rbm.units}: use method 'importance'"
        )


def exact_log_normaliser(rbm: RBM) -> float:
    """log Z, summed over the states of the side that has fewer units."""
    check_small(rbm)
    if rbm.units < rbm.size:
        rbm = RBM(rbm.W.T, rbm.c, rbm.b)
    places, total = np.arange(rbm.size), -np.inf
    for first in range(0, 2**rbm.size, _BLOCK):
        numbers: npt.NDArray[np.int64] = np.arange(first, min(first + _BLOCK, 2**rbm.size))
        states = jnp.asarray((numbers[:, None] >> places) & 1, jnp.float32)
        total = np.logaddexp(total, logsumexp(np.asarray(_scores(rbm, states), np.float64)))
    return float(total)


@eqx.filter_jit
def _scores(rbm: RBM, states: Float[Array, "S D"]) -> Float[Array, " S"]:
    return rbm.log_prob(states, jnp.zeros(0))
