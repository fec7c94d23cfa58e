"""A weighted population of imputed rows and their latents, x at what was observed."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Key

from wakesleep import importance
from wakesleep.models import HelmholtzMachine, Latents

ROUNDS = 5
"""Unweighted rounds that bring imputed bits near the observed ones before weights are taken."""


class Particles(NamedTuple):
    """K imputations of each row: x is `[B, K, D]`, each layer of h `[B, K, H]`."""

    x: Float[Array, "B K D"]
    h: Latents


class Weighted(NamedTuple):
    """Particles with the weights that make them stand for p(x_missing, h | x_observed).

    Attributes:
        particles: imputed rows with their latents.
        log_weights: their log weights, whose mean weight is an unbiased p(x_observed).
        expected: per particle, what is averaged for P(x_i = 1 | x_observed).
    """

    particles: Particles
    log_weights: Float[Array, "B K"]
    expected: Float[Array, "B K D"]


def sample_q_each(
    model: HelmholtzMachine, key: Key[Array, ""], x: Float[Array, "B K D"]
) -> tuple[Latents, Float[Array, "B K"]]:
    """One h ~ q(h | x) for every particle's own x, with log q(h | x)."""
    rows, samples, width = x.shape
    flat, terms = model.sample_q_with_terms(key, x.reshape(rows * samples, width), 1)
    h = tuple(layer.reshape(rows, samples, -1) for layer in flat)
    return h, sum(terms, start=jnp.zeros(())).reshape(rows, samples)


def log_prior(model: HelmholtzMachine, h: Latents) -> Float[Array, "B K"]:
    """log p(h)."""
    above = (*h[1:], jnp.zeros(0))
    terms = [
        layer.log_prob(value, parents)
        for layer, value, parents in zip(model.p[1:], h, above, strict=True)
    ]
    return sum(terms, start=jnp.zeros(h[0].shape[:-1]))


def propose(
    model: HelmholtzMachine,
    key: Key[Array, ""],
    imputed: Float[Array, "B K D"],
    missing: Bool[Array, "B 1 D"],
) -> Weighted:
    """h ~ q(h | imputed), then the missing bits anew from p(x | h), the observed ones held.

    The proposal's terms for the missing bits are p's own and cancel, so that the weight is
    p(h) Π_observed p(x_i | x_<i, h₁) / q(h | imputed). It is right whatever `imputed` has in
    place of the missing bits; likely ones only make the weights more even.
    """
    key_h, key_x = jax.random.split(key)
    h, log_q = sample_q_each(model, key_h, imputed)
    visible = model.visible
    x, logits = visible.draw_unobserved(key_x, imputed, ~missing, visible.preactivations(h[0]))
    log_weights = log_prior(model, h) + visible.log_prob_observed(x, logits, ~missing) - log_q
    return Weighted(Particles(x, h), log_weights, expected_bits(model, x, logits))


def expected_bits(
    model: HelmholtzMachine, x: Float[Array, "B K D"], logits: Float[Array, "B K D"]
) -> Float[Array, "B K D"]:
    """Probabilities where the units are independent given h: they have less noise than the bits.

    In an autoregressive layer the weight depends on the bit that was drawn, so only the bit
    itself may be averaged.
    """
    return model.p[0].emission.mean(logits) if model.p[0].factorial else x


def first_imputations(
    model: HelmholtzMachine,
    key: Key[Array, ""],
    x: Float[Array, "B D"],
    missing: Bool[Array, "B 1 D"],
    samples: int,
) -> Float[Array, "B K D"]:
    """Missing bits from dreams, then a few rounds of h ~ q(h | x), x_missing ~ p(x | h).

    Under an undirected top a dream takes a long chain: random bits have to do.
    """
    key_dream, key_rounds = jax.random.split(key)
    if model.undirected:
        dream = jax.random.bernoulli(key_dream, 0.5, (x.shape[0], samples, x.shape[1]))
    else:
        dream, _ = model.dream(key_dream, (x.shape[0], samples))

    def impute_again(i: Array, imputed: Float[Array, "B K D"]) -> Float[Array, "B K D"]:
        return propose(model, jax.random.fold_in(key_rounds, i), imputed, missing).particles.x

    return lax.fori_loop(0, ROUNDS, impute_again, jnp.where(missing, dream, x[:, None]))


def weighted_mean(weighted: Weighted) -> Float[Array, "B D"]:
    """P(x_i = 1 | x_observed) by the weights."""
    weights = importance.normalise(weighted.log_weights)
    return jnp.einsum("bk,bkd->bd", weights, weighted.expected)
