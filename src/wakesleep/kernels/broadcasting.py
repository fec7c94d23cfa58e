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
    kept = _kept(leading)
    width = array.shape[-1]
    rows = jnp.broadcast_to(array.reshape(*leading[:kept], width), (*batch[:kept], width))
    return rows.reshape(math.prod(batch[:kept]), width)


def rows_shape(shape: tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of `as_rows` with the batch's dimensions kept apart; 1 where a row is shared."""
    kept = _kept((1,) * (len(batch) + 1 - len(shape)) + shape[:-1])
    return (*batch[:kept], *(1,) * (len(batch) - kept), shape[-1])


def _kept(leading: tuple[int, ...]) -> int:
    kept = len(leading)
    while kept and leading[kept - 1] == 1:
        kept -= 1
    return kept


def sum_to(gradient: Array, shape: tuple[int, ...]) -> Array:
    """The gradient of an operand that was broadcast from `shape`: summed where it was repeated."""
    extra = gradient.ndim - len(shape)
    repeated = [
        extra + axis
        for axis, size in enumerate(shape)
        if size == 1 and gradient.shape[extra + axis] != 1
    ]
    return gradient.sum((*range(extra), *repeated)).reshape(shape)
