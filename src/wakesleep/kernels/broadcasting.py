"""Leading dimensions that broadcast, on the way into a kernel and on the way back."""

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
    rows = array.reshape(*leading[:kept], array.shape[-1])
    return jnp.broadcast_to(rows, (*batch[:kept], array.shape[-1])).reshape(-1, array.shape[-1])


def sum_to(gradient: Array, shape: tuple[int, ...]) -> Array:
    """The gradient of an operand that was broadcast from `shape`: summed where it was repeated."""
    extra = gradient.ndim - len(shape)
    repeated = [
        extra + axis
        for axis, size in enumerate(shape)
        if size == 1 and gradient.shape[extra + axis] != 1
    ]
    return gradient.sum((*range(extra), *repeated)).reshape(shape)
