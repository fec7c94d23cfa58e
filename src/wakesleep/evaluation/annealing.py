"""Annealed runs: p̂(x) where q's own samples meet too little of the posterior.

A run carries a few samples of q through distributions that go from q(h | x) to p(x, h),

    π_t(h) ∝ q(h | x)^(1 − β_t) p(x, h)^β_t,    β_t = t / T,

weighting them by (p / q)^(β_t − β_{t−1}) at each, drawing them anew in proportion to their weights
where those have become uneven, and moving them by Metropolis-Hastings steps under which π_t
stays as it is. The product of the mean weights is an unbiased estimate of p(x), whatever the
moves do (sequential Monte Carlo samplers, Del Moral, Doucet and Jasra 2006). So a run is one
importance weight like any other, from a proposal that has seen the posterior.
"""

import math
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from wakesleep.importance import Draw, draw, effective_sample_size, normalise
from wakesleep.model import HelmholtzMachine
from wakesleep.numerics import bernoulli_sample, log_mean_exp, softplus

PARTICLES = 8
TEMPERATURES = 128
SWEEPS = 2
"""Moves of every layer at each temperature."""

SHARE = 0.1
"""Of a layer's units that a move proposes anew; on MNIST about two of 200 then change."""

RUN_SAMPLES = PARTICLES * (1 + TEMPERATURES * SWEEPS)
"""States that p and q score in a run, which is what a sample costs too."""


@eqx.filter_jit
def annealed_log_weights(
    model: HelmholtzMachine, x: Float[Array, "B D"], key: Key[Array, ""], place: Int[Array, "2"]
) -> Float[Array, " B"]:
    """The logarithm of one run's estimate of p(x), for every row."""
    run_key = jax.random.fold_in(jax.random.fold_in(key, place[0]), place[1])
    key_start, key_steps = jax.random.split(run_key)
    particles = draw(model, x, PARTICLES, key_start)

    def step(carry, inputs):  # type: ignore[no-untyped-def]
        particles, log_weights, log_estimate = carry
        t, step_key = inputs
        key_resample, *keys = jax.random.split(step_key, 1 + SWEEPS)
        log_weights = log_weights + particles.log_weights / TEMPERATURES
        uneven = effective_sample_size(log_weights) < PARTICLES / 2
        log_estimate = log_estimate + jnp.where(uneven, log_mean_exp(log_weights), 0.0)
        particles = _resampled(particles, log_weights, uneven, key_resample)
        log_weights = jnp.where(uneven[:, None], 0.0, log_weights)
        for sweep_key in keys:
            particles = _sweep(model, x, particles, t / TEMPERATURES, sweep_key)
        return (particles, log_weights, log_estimate), None

    start = particles, jnp.zeros((len(x), PARTICLES)), jnp.zeros(len(x))
    steps = jnp.arange(1, TEMPERATURES + 1), jax.random.split(key_steps, TEMPERATURES)
    (_, log_weights, log_estimate), _ = jax.lax.scan(step, start, steps)
    return log_estimate + log_mean_exp(log_weights)


def _resampled(
    particles: Draw,
    log_weights: Float[Array, "B N"],
    uneven: Bool[Array, " B"],
    key: Key[Array, ""],
) -> Draw:
    """Rows that are uneven drawn in proportion to their weights, by systematic resampling."""
    n = log_weights.shape[-1]
    cumulative = jnp.cumsum(normalise(log_weights), axis=-1)
    offsets = jax.random.uniform(key, (len(log_weights), 1))
    points = (offsets + jnp.arange(n)) / n
    found = jax.vmap(jnp.searchsorted)(cumulative, points)
    chosen = jnp.where(uneven[:, None], jnp.minimum(found, n - 1), jnp.arange(n))

    return jax.tree.map(
        lambda values: jnp.take_along_axis(values, _as_wide(chosen, values), axis=1), particles
    )


def _sweep(
    model: HelmholtzMachine,
    x: Float[Array, "B D"],
    particles: Draw,
    beta: Float[Array, ""],
    key: Key[Array, ""],
) -> Draw:
    """A Metropolis-Hastings step for every latent layer in turn."""
    for layer, layer_key in enumerate(jax.random.split(key, len(model.q))):
        key_proposal, key_accept = jax.random.split(layer_key)
        proposed, log_ratio = _propose(model, x, particles, layer, key_proposal)
        # log π_t(proposed) − log π_t(current), and the proposals' probabilities.
        log_ratio += beta * (proposed.log_p - particles.log_p)
        log_ratio += (1 - beta) * (proposed.log_q - particles.log_q)
        threshold = jax.random.exponential(key_accept, log_ratio.shape)
        accepted = log_ratio > -threshold
        particles = jax.tree.map(partial(_choose, accepted), proposed, particles)
    return particles


def _propose(
    model: HelmholtzMachine,
    x: Float[Array, "B D"],
    particles: Draw,
    layer: int,
    key: Key[Array, ""],
) -> tuple[Draw, Float[Array, "B N"]]:
    """A share of a layer's units drawn anew from what q gives each of them.

    In an autoregressive q that hangs on the layer's other units, so the way back has other
    probabilities than the way there; their log ratio is returned too.
    """
    p, q, h = model.p, model.q, particles.h
    below = x[:, None, :] if layer == 0 else h[layer - 1]
    above = h[layer + 1] if layer + 1 < len(h) else jnp.zeros(0)
    key_units, key_share = jax.random.split(key)
    units = h[layer]
    logits = q[layer].conditional_logits(units, below)
    fresh, _ = bernoulli_sample(key_units, logits, units.shape[:-1])
    share = jnp.full((1, 1, units.shape[-1]), math.log(SHARE / (1 - SHARE)))
    redrawn = bernoulli_sample(key_share, share, units.shape[:-1])[0] > 0
    proposed = jnp.where(redrawn, fresh, units)

    log_p, log_q = list(particles.log_p_terms), list(particles.log_q_terms)
    log_p[layer] = p[layer].log_prob(below, proposed)
    log_p[layer + 1] = p[layer + 1].log_prob(proposed, above)
    log_q[layer] = q[layer].log_prob(proposed, below)
    if layer + 1 < len(q):
        log_q[layer + 1] = q[layer + 1].log_prob(above, proposed)
    if q[layer].is_factorial:
        log_ratio = particles.log_q_terms[layer] - log_q[layer]
    else:
        back = q[layer].conditional_logits(proposed, below)
        log_ratio = _log_prob_of(redrawn, units, back) - _log_prob_of(redrawn, proposed, logits)
    new_h = (*h[:layer], proposed, *h[layer + 1 :])
    return Draw(new_h, tuple(log_p), tuple(log_q)), log_ratio


def _log_prob_of(
    which: Bool[Array, "B N H"], units: Float[Array, "B N H"], logits: Float[Array, "B M H"]
) -> Float[Array, "B N"]:
    return -jnp.where(which, softplus(jnp.where(units > 0, -logits, logits)), 0.0).sum(-1)


def _choose(which: Bool[Array, "B N"], new: Array, old: Array) -> Array:
    return jnp.where(_as_wide(which, new), new, old)


def _as_wide(values: Array, like: Array) -> Array:
    """`[B, N]` to `[B, N, 1]` where units follow."""
    return values.reshape(*values.shape, *(1,) * (like.ndim - values.ndim))
