"""Leading dimensions that broadcast, on the way into a kernel and on the way back."""

import math

import jax.numpy as jnp
from jax import Array


def as_rows(array: Array, batch: tuple[int, ...]) -> Array:
    """A matrix `[R, D]` for leading dimensions that broadcast to `batch`.

    R divides the number of samples, and each row serves a run of consecutive samples: what is
    the same for the K samples of an example is passed once.
    """
    leading = (1,) * (len(batch) + 1 - array.ndim) + array.shape[:-1]
    kept = len(batch)
    while kept and leading[kept - 1] == 1:
        kept -= 1
    width = array.shape[-1]
    rows = jnp.broadcast_to(array.reshape(*leading[:kept], width), (*batch[:kept], width))
    return rows.reshape(math.prod(batch[:kept]), width)


def sum_to(gradient: Array, shape: tuple[int, ...]) -> Array:
    """The gradient of an operand that was broadcast from `shape`: summed where it was repeated."""
    extra = gradient.ndim - len(shape)
    repeated = [
        extra + axis
        for axis, size in enumerate(shape)
        if size == 1 and gradient.shape[extra + axis] != 1
    ]
    return gradient.sum((*range(extra), *repeated)).reshape(shape)
