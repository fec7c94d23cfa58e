"""Rows drawn from a model."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Key, UInt8

from wakesleep.models.mixture import BitModel


def sample(model: BitModel, n: int, *, key: Key[Array, ""]) -> UInt8[np.ndarray, "n D"]:
    """Draw n vectors of bits from the model."""
    return np.asarray(_rows(model, key, n), np.uint8)


def sample_means(model: BitModel, n: int, *, key: Key[Array, ""]) -> Float[np.ndarray, "n D"]:
    """The probabilities that the bits of n samples are drawn with, as the paper's figures show."""
    return np.asarray(_means(model, key, n))


@eqx.filter_jit
def _rows(model: BitModel, key: Key[Array, ""], count: int) -> Float[Array, "n D"]:
    return model.dream(key, count)[0]


@eqx.filter_jit
def _means(model: BitModel, key: Key[Array, ""], count: int) -> Float[Array, "n D"]:
    return model.mean_p(key, count)
