"""Affine maps, Bernoulli variables from logits and their exact draws, and log-mean-exp.

Everything here takes logits and stays finite at logits of ±100 and beyond.
"""

import math

import jax
from jaxtyping import Array, Float

from wakesleep.kernels.bernoulli import bernoulli_log_prob, bernoulli_sample, logistic_noise
from wakesleep.kernels.bernoulli_reference import logistic_from_bits, softplus

__all__ = [
    "affine",
    "bernoulli_log_prob",
    "bernoulli_sample",
    "log_mean_exp",
    "logistic_from_bits",
    "logistic_noise",
    "softplus",
]


def affine(
    y: Float[Array, "*batch C"], W: Float[Array, "D C"], b: Float[Array, " D"]
) -> Float[Array, "*batch D"]:
    """W y + b over any leading dimensions.

    The product is one of two plain matrices: with several leading dimensions XLA would copy
    both operands of the weights' gradient, transposed, before multiplying them.
    """
    rows = y.reshape(math.prod(y.shape[:-1]), y.shape[-1])
    return (rows @ W.T + b).reshape(*y.shape[:-1], W.shape[0])


def log_mean_exp(values: Float[Array, "*batch K"]) -> Float[Array, "*batch"]:
    """log (1/K) Σ_k exp(values_k) over the last axis."""
    return jax.nn.logsumexp(values, axis=-1) - math.log(values.shape[-1])
