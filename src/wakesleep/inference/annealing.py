"""Annealed importance sampling of an RBM's normaliser Z, from both sides.

From bits that are independent to the RBM go the distributions over x and the hidden units u

    π_β(x, u) ∝ exp((1 − β) a·x + β (b·x + u·(W x + c))),    β from 0 to 1.

A run from β = 0 up has a weight whose mean is Z / Z₀ (Neal 2001; Salakhutdinov & Murray 2008), a
run from samples of the RBM down has one whose mean is Z₀ / Z. Both are unbiased, so that the
logarithm of the first is low on average and that of the second, turned over, is high.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key

from wakesleep.layers import RBM
from wakesleep.numerics import bernoulli_sample, log_mean_exp, softplus

BASE_SWEEPS = 100
"""Gibbs sweeps to the bits whose mean the path starts from."""


class Annealed(NamedTuple):
    """What some runs say of log Z.

    Attributes:
        log_normaliser: of the mean of all runs' weights.
        standard_error: of that (delta method).
        log_weights: each run's, `[R]`.
        x: where the runs ended, `[R, D]`.
    """

    log_normaliser: Float[Array, ""]
    standard_error: Float[Array, ""]
    log_weights: Float[Array, " R"]
    x: Float[Array, "R D"]


@eqx.filter_jit
def base_logits(rbm: RBM, key: Key[Array, ""], chains: int) -> Float[Array, " D"]:
    """a: the log-odds of each bit's mean over some short chains. Any a is right, this one is near.

    The runs must not share its key: given a they are unbiased.
    """
    start = jax.random.bernoulli(key, 0.5, (chains, rbm.size)).astype(jnp.float32)
    total = rbm.gibbs(jax.random.fold_in(key, 1), start, BASE_SWEEPS).sum(0)
    return jnp.log((total + 0.5) / (chains - total + 0.5))


@eqx.filter_jit
def anneal_up(
    rbm: RBM, key: Key[Array, ""], a: Float[Array, " D"], runs: int, temperatures: int
) -> Annealed:
    """log Z by runs from independent bits up to the RBM: low on average."""
    key_start, key_path = jax.random.split(key)
    x, _ = bernoulli_sample(key_start, a, (runs,))
    betas = jnp.linspace(0.0, 1.0, temperatures + 1)
    log_weights, x = _path(rbm, a, key_path, x, betas)
    return _estimate(log_weights, x, _log_base(rbm, a) + log_mean_exp(log_weights))


@eqx.filter_jit
def anneal_down(
    rbm: RBM, key: Key[Array, ""], a: Float[Array, " D"], x: Float[Array, "R D"], temperatures: int
) -> Annealed:
    """log Z by runs from samples x of the RBM down to independent bits: high on average.

    It is no more than the samples are: it hangs on their having the RBM's distribution.
    """
    betas = jnp.linspace(1.0, 0.0, temperatures + 1)
    log_weights, x = _path(rbm, a, key, x, betas)
    return _estimate(log_weights, x, _log_base(rbm, a) - log_mean_exp(log_weights))


def _log_base(rbm: RBM, a: Float[Array, " D"]) -> Float[Array, ""]:
    """log Z₀, where x and u are independent."""
    return softplus(a).sum() + rbm.units * jnp.log(2.0)


def _path(
    rbm: RBM, a: Float[Array, " D"], key: Key[Array, ""], x: Float[Array, "R D"], betas: Array
) -> tuple[Float[Array, " R"], Float[Array, "R D"]]:
    """The log weights of runs through these temperatures, and where they end."""

    def step(carry: tuple[Array, Array], inputs: tuple[Array, ...]) -> tuple[tuple, None]:
        log_weights, x = carry
        before, after, step_key = inputs
        key_u, key_x = jax.random.split(step_key)
        z = rbm.hidden_logits(x)
        # Differences first: their sum keeps the digits that two sums would lose.
        gain = (after - before) * (x @ (rbm.b - a))
        gain += (softplus(after * z) - softplus(before * z)).sum(-1)
        u, _ = bernoulli_sample(key_u, after * z, z.shape[:-1])
        logits = (1 - after) * a + after * rbm.visible_logits(u)
        x, _ = bernoulli_sample(key_x, logits, x.shape[:-1])
        return (log_weights + gain, x), None

    keys = jax.random.split(key, len(betas) - 1)
    start = jnp.zeros(len(x)), x
    (log_weights, x), _ = lax.scan(step, start, (betas[:-1], betas[1:], keys))
    return log_weights, x


def _estimate(
    log_weights: Float[Array, " R"], x: Float[Array, "R D"], value: Float[Array, ""]
) -> Annealed:
    runs = len(log_weights)
    relative = jnp.exp(log_weights - log_mean_exp(log_weights))
    error = jnp.sqrt(jnp.square(relative - 1).sum() / max(runs - 1, 1) / runs)
    return Annealed(value, error, log_weights, x)
