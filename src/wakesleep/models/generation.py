"""Rows drawn from a model."""

import equinox as eqx
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, Key

from wakesleep.models.base import LatentModel
from wakesleep.models.bit_model import BitModel


def sample_bits(model: LatentModel, n: int, *, key: Key[Array, ""]) -> npt.NDArray[np.uint8]:
    """Draw n rows of bits, `[n, D]`."""
    return np.asarray(_rows(model, key, n), np.uint8)


def sample_means(model: BitModel, n: int, *, key: Key[Array, ""]) -> Float[np.ndarray, "n D"]:
    """The probabilities that the bits of n samples are drawn with, as the paper's figures show."""
    return np.asarray(_means(model, key, n))


@eqx.filter_jit
def _rows(model: LatentModel, key: Key[Array, ""], count: int) -> Float[Array, "n D"]:
    return model.dream(key, count)[0]


@eqx.filter_jit
def _means(model: BitModel, key: Key[Array, ""], count: int) -> Float[Array, "n D"]:
    return model.mean_p(key, count)
