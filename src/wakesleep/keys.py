"""Randomness as people give it: a JAX key, or a whole number."""

from numbers import Integral
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from wakesleep.errors import UsageError

LikeKey = Key[Array, ""] | int
"""A JAX key, or a seed that one is made of."""


def as_key(key: Any) -> Key[Array, ""]:
    """A whole number is the seed of a key; a key is itself.

    >>> import jax
    >>> bool(as_key(3) == jax.random.key(3))
    True
    """
    if isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        return key
    if isinstance(key, Integral) and not isinstance(key, bool) and 0 <= int(key) < 2**32:
        return jax.random.key(int(key))
    raise UsageError(
        f"key is {key!r}, but it must be a whole number from 0 to 4294967295 or a JAX key, such as "
        "jax.random.key(0)"
    )


def generator_of(key: Key[Array, ""]) -> np.random.Generator:
    """NumPy's randomness of a key, for what is drawn outside of compiled code."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
