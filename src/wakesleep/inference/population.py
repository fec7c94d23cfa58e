"""A weighted population of rows and their latents, x at what is known of it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key

from wakesleep import importance
from wakesleep.inference.conditions import Conditions
from wakesleep.inference.resampling import systematic, take
from wakesleep.models import HelmholtzMachine, Latents

WARM_UP = 1
"""Rounds whose weights are not used: they bring unknown units near to what is known."""

ROUNDS = 4
"""Rounds whose weighted particles are pooled; with the warm-up, what a sample costs is shared."""


class Particles(NamedTuple):
    """K rows for each: x is `[B, K, D]`, each layer of h `[B, K, H]`; no layer without latents."""

    x: Float[Array, "B K D"]
    h: Latents


class Weighted(NamedTuple):
    """Particles with the weights that make them stand for p(x, h | what is known).

    Attributes:
        particles: rows with their latents.
        log_weights: their log weights, whose mean weight is an unbiased p(what is known).
        expected: per particle, what is averaged for P(x_i = 1 | what is known).
    """

    particles: Particles
    log_weights: Float[Array, "B K"]
    expected: Float[Array, "B K D"]


def parents_of(h: Latents) -> Float[Array, "... C"]:
    """What the visible layer is conditioned on."""
    return h[0] if h else jnp.zeros(0)


def sample_q_each(
    model: HelmholtzMachine, key: Key[Array, ""], x: Float[Array, "B K D"]
) -> tuple[Latents, Float[Array, "B K"]]:
    """One h ~ q(h | x) for every particle's own x, with log q(h | x)."""
    rows, samples, width = x.shape
    if not model.q:
        return (), jnp.zeros((rows, samples))
    flat, terms = model.sample_q_with_terms(key, x.reshape(rows * samples, width), 1)
    h = tuple(layer.reshape(rows, samples, -1) for layer in flat)
    return h, sum(terms, start=jnp.zeros((rows * samples, 1))).reshape(rows, samples)


def log_prior(model: HelmholtzMachine, h: Latents) -> Float[Array, "..."]:
    """log p(h); 0 without latents."""
    above = (*h[1:], jnp.zeros(0))
    terms = [
        layer.log_prob(value, parents)
        for layer, value, parents in zip(model.p[1:], h, above, strict=False)
    ]
    return sum(terms, start=jnp.zeros(()))


def turn_one(h: Latents, level: int, key: Key[Array, ""]) -> Latents:
    """The latents with one unit of a layer turned over, another in each."""
    layer = h[level]
    unit = jax.random.randint(key, layer.shape[:-1], 0, layer.shape[-1])
    turned = jnp.abs(layer - jax.nn.one_hot(unit, layer.shape[-1]))
    return (*h[:level], turned, *h[level + 1 :])


def propose(
    model: HelmholtzMachine,
    key: Key[Array, ""],
    imputed: Float[Array, "B K D"],
    conditions: Conditions,
) -> Weighted:
    """h ~ q(h | imputed), then the unknown units anew from p(x | h) within what is known.

    The proposal's terms for the unknown units are p's own and cancel, so that the weight is
    p(h) · evidence / q(h | imputed). It is right whatever `imputed` has in place of the unknown
    units; likely ones only make the weights more even.
    """
    key_h, key_x = jax.random.split(key)
    h, log_q = sample_q_each(model, key_h, imputed)
    visible = model.visible
    pre = visible.preactivations(parents_of(h))
    x, logits, log_evidence = conditions.draw(visible, key_x, pre, imputed.shape[1])
    log_weights = log_prior(model, h) + log_evidence - log_q
    return Weighted(Particles(x, h), log_weights, expected_bits(model, x, logits))


def expected_bits(
    model: HelmholtzMachine, x: Float[Array, "B K D"], logits: Float[Array, "B K D"]
) -> Float[Array, "B K D"]:
    """Probabilities where the units are independent given h: they have less noise than the bits.

    In an autoregressive layer the weight depends on the bit that was drawn, so only the bit
    itself may be averaged.
    """
    return model.p[0].emission.mean(logits) if model.p[0].factorial else x


def dream_rows(
    model: HelmholtzMachine, key: Key[Array, ""], conditions: Conditions, samples: int
) -> Weighted:
    """K rows for each from dreamt latents, within what is known, weighted by the evidence."""
    key_h, key_x = jax.random.split(key)
    h = model.dream_latents(key_h, (conditions.template.shape[0], samples))
    pre = model.visible.preactivations(parents_of(h))
    x, logits, log_evidence = conditions.draw(model.visible, key_x, pre, samples)
    return Weighted(Particles(x, h), log_evidence, expected_bits(model, x, logits))


def next_rows(key: Key[Array, ""], weighted: Weighted) -> Float[Array, "B K D"]:
    """What the next round starts from: rows as often as their weights say."""
    return take(weighted.particles.x, systematic(key, weighted.log_weights))


def rounds_of(model: HelmholtzMachine, samples: int) -> int:
    """In how many rounds so many particles are pooled; without latents none leads to the next."""
    return ROUNDS if model.q and samples % ROUNDS == 0 else 1


def weigh(
    model: HelmholtzMachine, key: Key[Array, ""], conditions: Conditions, samples: int
) -> Weighted:
    """K weighted particles for each row, pooled from rounds that each start from the last.

    A round's weights are right whatever it starts from, so all of them can be pooled (population
    Monte Carlo, Cappé et al. 2004).
    """
    key_first, key_warm, key_rounds = jax.random.split(key, 3)
    rounds = rounds_of(model, samples)
    imputed = _first_rows(model, key_first, conditions, samples // rounds)

    def step(imputed: Array, round_key: Key[Array, ""]) -> tuple[Array, Weighted]:
        key_propose, key_next = jax.random.split(round_key)
        weighted = propose(model, key_propose, imputed, conditions)
        return next_rows(key_next, weighted), weighted

    if model.q:
        imputed = lax.fori_loop(
            0, WARM_UP, lambda i, x: step(x, jax.random.fold_in(key_warm, i))[0], imputed
        )
    _, weighted = lax.scan(step, imputed, jax.random.split(key_rounds, rounds))
    return jax.tree.map(_pooled, weighted)


def _first_rows(
    model: HelmholtzMachine, key: Key[Array, ""], conditions: Conditions, samples: int
) -> Float[Array, "B K D"]:
    """From dreams; under an undirected top one takes a long chain: random bits have to do."""
    if model.undirected is None:
        return dream_rows(model, key, conditions, samples).particles.x
    rows, _, units = conditions.template.shape
    random = jax.random.bernoulli(key, 0.5, (rows, samples, units))
    return jnp.where(conditions.fixed, conditions.template, random)


def _pooled(leaf: Float[Array, "R B K *rest"]) -> Float[Array, "B RK *rest"]:
    """All rounds' particles of a row beside each other."""
    rounds, rows, samples, *rest = leaf.shape
    return jnp.moveaxis(leaf, 0, 1).reshape(rows, rounds * samples, *rest)


def weighted_mean(weighted: Weighted) -> Float[Array, "B D"]:
    """P(x_i = 1 | what is known) by the weights."""
    weights = importance.normalise(weighted.log_weights)
    return jnp.einsum("bk,bkd->bd", weights, weighted.expected)
