"""Importance weights ω_k = p(x, h_k) / q(h_k | x) for h_k ~ q(h | x), and all made of them.

Weights are `[B, K]`, normalised over K for each example, and stay in log space.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.model import HelmholtzMachine, Latents, Terms
from wakesleep.numerics import log_mean_exp


class Draw(NamedTuple):
    """K samples from q for each example, scored by p and q layer by layer.

    Attributes:
        h: latents from the layer next to the data upwards, each `[B, K, H]`.
        log_p_terms: log p₀(x | h₁), …, log p_L(h_L), each `[B, K]`.
        log_q_terms: log q₁(h₁ | x), …, each `[B, K]`.
    """

    h: Latents
    log_p_terms: Terms
    log_q_terms: Terms

    @property
    def log_p(self) -> Float[Array, "B K"]:
        """log p(x, h_k)."""
        return sum(self.log_p_terms[1:], start=self.log_p_terms[0])

    @property
    def log_q(self) -> Float[Array, "B K"]:
        """log q(h_k | x)."""
        return sum(self.log_q_terms, start=jnp.zeros_like(self.log_p_terms[0]))

    @property
    def log_weights(self) -> Float[Array, "B K"]:
        """log ω_k = log p(x, h_k) − log q(h_k | x)."""
        return self.log_p - self.log_q


def draw(
    model: HelmholtzMachine, x: Float[Array, "B D"], samples: int, key: Key[Array, ""]
) -> Draw:
    """Draw K latents per example from q and score them (the first half of Algorithm 1)."""
    h, log_q_terms = model.sample_q_with_terms(key, x, samples)
    shape = (x.shape[0], samples)
    terms = model.log_joint_terms(x[:, None, :], h)
    return Draw(h, tuple(jnp.broadcast_to(term, shape) for term in terms), log_q_terms)


def log_weights(
    model: HelmholtzMachine, x: Float[Array, "B D"], samples: int, key: Key[Array, ""]
) -> Float[Array, "B K"]:
    """log ω_k for K fresh samples of each example."""
    return draw(model, x, samples, key).log_weights


def normalise(log_weights: Float[Array, "*batch K"]) -> Float[Array, "*batch K"]:
    """ω̃_k = ω_k / Σ ω, for each example."""
    return jax.nn.softmax(log_weights, axis=-1)


def log_likelihood_estimate(log_weights: Float[Array, "*batch K"]) -> Float[Array, "*batch"]:
    """log p̂(x) = log (1/K) Σ_k ω_k, eq. 1: its exponential is unbiased, it is low on average."""
    return log_mean_exp(log_weights)


def variational_bound(log_weights: Float[Array, "*batch K"]) -> Float[Array, "*batch"]:
    """The single-sample bound E_q[log p(x, h) − log q(h | x)], averaged over the K samples."""
    return log_weights.mean(-1)


def effective_sample_size(log_weights: Float[Array, "*batch K"]) -> Float[Array, "*batch"]:
    """1 / Σ ω̃², between 1 (one sample has all the weight) and K (all have the same)."""
    return 1 / jnp.square(normalise(log_weights)).sum(-1)
