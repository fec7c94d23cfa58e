"""Affine maps of many rows of bits, and their gradient."""

import math

import jax
from jax import Array
from jaxtyping import Float

from wakesleep.kernels import native

FEWEST_ROWS = 16
"""Below so many rows the sums of weights that they share cost more than they spare."""


def bit_affine(
    y: Float[Array, "*batch C"], W: Float[Array, "D C"], b: Float[Array, " D"]
) -> Float[Array, "*batch D"]:
    """W y + b over any leading dimensions, for a y that is bits.

    Four bits choose one of sixteen sums of weights, which all rows share: a quarter of a matrix
    product's additions. Other values than bits are right too, but slower than a product.
    """
    rows = y.reshape(math.prod(y.shape[:-1]), y.shape[-1])
    return _map(rows, W, b).reshape(*y.shape[:-1], W.shape[0])


@jax.custom_vjp
def _map(rows: Array, W: Array, b: Array) -> Array:
    if len(rows) < FEWEST_ROWS or 0 in W.shape or not native.serves(rows, W, b):
        return reference(rows, W, b)

    def compiled(rows: Array, W: Array, b: Array) -> Array:
        return native.call("bit_affine", [(len(rows), len(W))], rows, W, b)[0]

    return native.on_cpu(compiled, reference, rows, W, b)


def reference(rows: Array, W: Array, b: Array) -> Array:
    """The same in pure JAX: one product of two plain matrices."""
    return rows @ W.T + b


def _map_forward(rows, W, b):  # type: ignore[no-untyped-def]
    return _map(rows, W, b), (rows, W)


def _map_backward(saved, g):  # type: ignore[no-untyped-def]
    rows, W = saved
    return g @ W, *_outer(g, rows)


_map.defvjp(_map_forward, _map_backward)


def _outer(g: Array, rows: Array) -> tuple[Array, Array]:
    """The gradients of W and b, given that of the outputs."""
    if 0 in (*g.shape, *rows.shape) or not native.serves(g, rows):
        return reference_outer(g, rows)

    def compiled(g: Array, rows: Array) -> tuple[Array, Array]:
        units = g.shape[1]
        dW, db = native.call("bit_outer", [(units, rows.shape[1]), (units,)], g, rows)
        return dW, db

    return native.on_cpu(compiled, reference_outer, g, rows)


def reference_outer(g: Array, rows: Array) -> tuple[Array, Array]:
    """The same in pure JAX."""
    return g.T @ rows, g.sum(0)
