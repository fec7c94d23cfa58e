"""Rows drawn from a model."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from wakesleep.keys import LikeKey, as_key, generator_of
from wakesleep.models.base import LatentModel
from wakesleep.models.bit_model import BitModel
from wakesleep.models.table_model import TableModel


def sample(model: LatentModel | TableModel, n: int, *, key: LikeKey, like: Any = None) -> Any:
    """Draw n rows from a model: bits `[n, D]`, uint8, or a frame from a `TableModel`.

    Args:
        model: a Helmholtz machine or a mixture, or one with the schema of its table.
        n: how many rows.
        key: the randomness: a seed or a JAX key.
        like: for a table, a frame whose library and column types the samples get, or the name of
            a library; pandas, polars or pyarrow otherwise, the first that is installed.

    >>> import jax, wakesleep as ws
    >>> ws.sample(ws.build("sbn/sbn 2-3", features=4, key=jax.random.key(0)), 5, key=0).shape
    (5, 4)
    """
    chosen = as_key(key)
    if isinstance(model, TableModel):
        key_bits, key_within = jax.random.split(chosen)
        bits = sample(model.model, n, key=key_bits)
        return model.to_frame(bits, generator_of(key_within), like)
    return np.asarray(_rows(model, chosen, n), np.uint8)


def sample_means(model: BitModel, n: int, *, key: Key[Array, ""]) -> Float[np.ndarray, "n D"]:
    """The probabilities that the bits of n samples are drawn with, as the paper's figures show."""
    return np.asarray(_means(model, key, n))


@eqx.filter_jit
def _rows(model: LatentModel, key: Key[Array, ""], count: int) -> Float[Array, "n D"]:
    return model.dream(key, count)[0]


@eqx.filter_jit
def _means(model: BitModel, key: Key[Array, ""], count: int) -> Float[Array, "n D"]:
    return model.mean_p(key, count)
