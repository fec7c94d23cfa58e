"""Importance weights ω_k = p(x, h_k) / q(h_k | x) for h_k ~ q(h | x), and all made of them.

Weights are `[B, K]`, normalised over K for each example, and stay in log space.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.models.base import LatentModel
from wakesleep.numerics import log_mean_exp


def log_weights(
    model: LatentModel, x: Any, samples: int, key: Key[Array, ""]
) -> Float[Array, "B K"]:
    """log ω_k for K fresh samples of each example."""
    return model.draw(key, x, samples).log_weights


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
