"""SMC runs: p̂(x) where q's own samples meet too little of the posterior.

An SMC run carries a few samples of q through distributions that go from q(h | x) to p(x, h),

    π_t(h) ∝ q(h | x)^(1 − β_t) p(x, h)^β_t,    β_t = t / T,

weighting them by (p / q)^(β_t − β_{t−1}) at each, drawing them anew in proportion to their weights
where those have become uneven, and moving them by Metropolis-Hastings steps under which π_t
stays as it is. A move changes few of a layer's units, so what the layers on both sides make of
them is carried along and changed by as little. The product of the mean weights is an unbiased
estimate of p(x), whatever the moves do (sequential Monte Carlo samplers, Del Moral, Doucet and
Jasra 2006). So a run is one importance weight like any other, from a proposal that has seen the
posterior.
"""

import functools
import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from wakesleep import shares
from wakesleep.importance import effective_sample_size
from wakesleep.inference.metropolis import metropolis
from wakesleep.inference.resampling import systematic, take
from wakesleep.layers.base import Preactivations
from wakesleep.models import Draw, HelmholtzMachine
from wakesleep.numerics import bernoulli_log_prob, bernoulli_sample, log_mean_exp

PARTICLES = 8
TEMPERATURES = 128
SWEEPS = 2
"""Moves of every layer at each temperature."""

SHARE = 0.2
"""Of a layer's units that a move draws anew; on MNIST about four of 200 then change."""

RUN_SAMPLES = PARTICLES * (1 + TEMPERATURES * SWEEPS)
"""States that p and q score in an SMC run, which is what a sample costs too."""


class Particles(NamedTuple):
    """States of an SMC run, with what the layers make of them.

    Attributes:
        scored: the states and their log-probabilities.
        down: what p[l], below latent layer l, makes of it; one for each.
        up: what q[l + 1], above latent layer l, makes of it; none for the last.
        logits: q[l]'s of latent layer l; None where its pre-activations already are that.
    """

    scored: Draw
    down: tuple[Preactivations, ...]
    up: tuple[Preactivations, ...]
    logits: tuple[Float[Array, "B N _"] | None, ...]

    @classmethod
    def of(cls, model: HelmholtzMachine, ends: "Ends", scored: Draw) -> "Particles":
        """Those states, with all that is made of them found anew."""
        down = tuple(p.preactivations(h) for p, h in zip(model.p, scored.h, strict=False))
        up = tuple(q.preactivations(h) for q, h in zip(model.q[1:], scored.h, strict=False))
        logits = tuple(
            None if q.factorial else q.logits(h, below)
            for q, h, below in zip(model.q, scored.h, (ends.up, *up), strict=True)
        )
        return cls(scored, down, up, logits)


class Ends(NamedTuple):
    """What never moves: the examples, what q makes of them, and p's top layer of nothing."""

    x: Float[Array, "B 1 D"]
    up: Preactivations
    down: Preactivations

    @classmethod
    def of(cls, model: HelmholtzMachine, x: Float[Array, "B D"]) -> "Ends":
        """The ends of the chain of layers for these examples."""
        examples = x[:, None, :]
        top = model.p[-1].preactivations(jnp.zeros((1, 1, 0)))
        return cls(examples, model.q[0].preactivations(model.q_input(examples)), top)


@eqx.filter_jit
def smc_log_weights(
    model: HelmholtzMachine, x: Float[Array, "B D"], key: Key[Array, ""], place: Int[Array, "2"]
) -> Float[Array, " B"]:
    """The logarithm of one SMC run's estimate of p(x), for every row."""
    run_key = jax.random.fold_in(jax.random.fold_in(key, place[0]), place[1])
    key_start, key_steps = jax.random.split(run_key)
    ends = Ends.of(model, x)
    particles = Particles.of(model, ends, model.draw(key_start, x, PARTICLES))

    def step(carry, inputs):  # type: ignore[no-untyped-def]
        particles, log_weights, log_estimate = carry
        t, step_key = inputs
        key_resample, *keys = jax.random.split(step_key, 1 + SWEEPS)
        log_weights = log_weights + particles.scored.log_weights / TEMPERATURES
        uneven = effective_sample_size(log_weights) < PARTICLES / 2
        log_estimate = log_estimate + jnp.where(uneven, log_mean_exp(log_weights), 0.0)
        particles = _resampled(particles, log_weights, uneven, key_resample)
        log_weights = jnp.where(uneven[:, None], 0.0, log_weights)
        for sweep_key in keys:
            particles = sweep(model, ends, particles, t / TEMPERATURES, sweep_key)
        return (particles, log_weights, log_estimate), None

    start = particles, jnp.zeros((len(x), PARTICLES)), jnp.zeros(len(x))
    steps = jnp.arange(1, TEMPERATURES + 1), jax.random.split(key_steps, TEMPERATURES)
    (_, log_weights, log_estimate), _ = jax.lax.scan(step, start, steps)
    return log_estimate + log_mean_exp(log_weights)


def _resampled(
    particles: Particles,
    log_weights: Float[Array, "B N"],
    uneven: Bool[Array, " B"],
    key: Key[Array, ""],
) -> Particles:
    """Particles of uneven rows in proportion to their weights, those of the others as they are."""
    stay = jnp.arange(log_weights.shape[-1])
    return take(particles, jnp.where(uneven[:, None], systematic(key, log_weights), stay))


def sweep(
    model: HelmholtzMachine,
    ends: Ends,
    particles: Particles,
    beta: Float[Array, ""],
    key: Key[Array, ""],
) -> Particles:
    """A Metropolis-Hastings step for every latent layer in turn."""
    for layer, layer_key in enumerate(jax.random.split(key, len(model.q))):
        key_proposal, key_accept = jax.random.split(layer_key)
        proposed, log_ratio = _propose(model, ends, particles, layer, key_proposal)
        # log π_t(proposed) − log π_t(current), and the proposals' probabilities.
        new, old = proposed.scored, particles.scored
        log_ratio += beta * (new.log_p - old.log_p) + (1 - beta) * (new.log_q - old.log_q)
        draw = functools.partial(jax.random.exponential, key_accept)
        log_uniform = -shares.drawn(draw, log_ratio.shape)
        particles, _ = metropolis(log_uniform, log_ratio, proposed, particles)
    return particles


def _propose(
    model: HelmholtzMachine,
    ends: Ends,
    particles: Particles,
    layer: int,
    key: Key[Array, ""],
) -> tuple[Particles, Float[Array, "B N"]]:
    """A share of a layer's units drawn anew from what q gives each of them.

    In an autoregressive q that hangs on the layer's other units, so the way back has other
    probabilities than the way there; their log ratio is returned too.
    """
    p, q, h = model.p, model.q, particles.scored.h
    below, units = (ends.x, *h)[layer], h[layer]
    from_below = (ends.up, *particles.up)[layer]
    from_above = (*particles.down, ends.down)[layer + 1]
    logits = particles.logits[layer]
    if logits is None:
        logits = q[layer].logits(units, from_below)
    flips, log_there = bernoulli_sample(key, _flip_logits(units, logits), units.shape[:-1])
    proposed = jnp.abs(units - flips)

    log_p, log_q = list(particles.scored.log_p_terms), list(particles.scored.log_q_terms)
    down, up, carried = list(particles.down), list(particles.up), list(particles.logits)
    down[layer] = p[layer].updated_preactivations(down[layer], units, proposed)
    log_p[layer] = p[layer].log_prob_given(below, down[layer])
    log_p[layer + 1] = p[layer + 1].log_prob_given(proposed, from_above)
    back = q[layer].logits(proposed, from_below)
    log_q[layer] = bernoulli_log_prob(proposed, back)
    if carried[layer] is None:
        log_ratio = particles.scored.log_q_terms[layer] - log_q[layer]
    else:
        log_ratio = bernoulli_log_prob(flips, _flip_logits(proposed, back)) - log_there
        carried[layer] = back
    if layer + 1 < len(q):
        up[layer] = q[layer + 1].updated_preactivations(up[layer], units, proposed)
        above = q[layer + 1].logits(h[layer + 1], up[layer])
        log_q[layer + 1] = bernoulli_log_prob(h[layer + 1], above)
        carried[layer + 1] = None if carried[layer + 1] is None else above
    scored = Draw((*h[:layer], proposed, *h[layer + 1 :]), tuple(log_p), tuple(log_q))
    return Particles(scored, tuple(down), tuple(up), tuple(carried)), log_ratio


def _flip_logits(
    units: Float[Array, "B N H"], logits: Float[Array, "B M H"]
) -> Float[Array, "B N H"]:
    """The logit of SHARE · P(the other value): a unit is drawn anew and comes out different."""
    against = jnp.where(units > 0, logits, -logits)
    return math.log(SHARE) - jnp.log(1 - SHARE + jnp.exp(jnp.minimum(against, 88.0)))
