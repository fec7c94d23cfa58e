"""Affine maps of bits; and followed from one vector of bits to another that differs in few places."""

import math

import jax
from jax import Array
from jaxtyping import Float

from wakesleep.kernels import native

FEWEST_ROWS = 48
"""Below this many rows the sums that they share cost more than they spare."""


def affine(
    y: Float[Array, "*batch C"], W: Float[Array, "D C"], b: Float[Array, " D"]
) -> Float[Array, "*batch D"]:
    """W y + b over any leading dimensions; twice as fast as a matrix product where y is bits.

    The product is one of two plain matrices: with several leading dimensions XLA would copy
    both operands of the weights' gradient, transposed, before multiplying them.
    """
    rows = y.reshape(math.prod(y.shape[:-1]), y.shape[-1])
    return _affine(rows, W, b).reshape(*y.shape[:-1], W.shape[0])


@jax.custom_vjp
def _affine(rows: Array, W: Array, b: Array) -> Array:
    few = rows.shape[0] < FEWEST_ROWS or 0 in W.shape
    if few or not native.serves(rows, W, b):
        return _product(rows, W, b)
    return native.on_cpu(_compiled_product, _product, rows, W, b)


def _compiled_product(rows: Array, W: Array, b: Array) -> Array:
    return native.call("bit_affine", [(rows.shape[0], W.shape[0])], rows, W, b)[0]


def _product(rows: Array, W: Array, b: Array) -> Array:
    return rows @ W.T + b


def _affine_forward(rows, W, b):  # type: ignore[no-untyped-def]
    return _affine(rows, W, b), (rows, W)


def _affine_backward(saved, g):  # type: ignore[no-untyped-def]
    rows, W = saved
    return g @ W, g.T @ rows, g.sum(0)


_affine.defvjp(_affine_forward, _affine_backward)


def affine_update(
    outputs: Float[Array, "*batch D"],
    before: Float[Array, "*batch C"],
    after: Float[Array, "*batch C"],
    W: Float[Array, "D C"],
) -> Float[Array, "*batch D"]:
    """W after + b, where `outputs` is W before + b.

    Where few bits differ, adding their columns is much less work than the product; every move
    adds its own rounding.
    """
    if not native.serves(outputs, before, after, W):
        return reference(outputs, before, after, W)
    return native.on_cpu(_compiled, reference, outputs, before, after, W)


def _compiled(outputs: Array, before: Array, after: Array, W: Array) -> Array:
    return native.call("affine_update", [outputs.shape], outputs, before, after, W.T)[0]


def reference(outputs: Array, before: Array, after: Array, W: Array) -> Array:
    """The same in pure JAX, for whatever JAX runs on."""
    return outputs + (after - before) @ W.T
