"""Affine maps of bits and their gradients, against products in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.kernels import oracle
from wakesleep import kernels
from wakesleep.kernels import bit_products

# Rows, units, parents: none, below and above the fewest rows, whole blocks and parts of them, and
# more groups of four than are summed at a time.
SHAPES = [(0, 3, 5), (20, 0, 5), (20, 3, 0), (1, 1, 1), (17, 9, 5), (40, 8, 16), (33, 21, 203)]
SHAPES += [(16, 5, 7), (300, 3, 9), (130, 30, 401)]


def rows_of(kind, rows, parents, random):
    if kind == "numbers":
        return random.normal(size=(rows, parents)).astype(np.float32)
    y = random.integers(0, 2, (rows, parents)).astype(np.float32)
    if kind == "one other" and y.size:
        y[rows // 2, parents // 2] = 0.25
    return y


def problem(kind, rows, units, parents, seed=0):
    random = np.random.default_rng(seed)
    y = rows_of(kind, rows, parents, random)
    W, b, g = (random.normal(size=size) for size in ((units, parents), units, (rows, units)))
    return [jnp.asarray(array, jnp.float32) for array in (y, W, b, g)]


def exactly(*arrays):
    return [np.asarray(array, np.float64) for array in arrays]


@pytest.mark.parametrize("kind", ["bits", "one other", "numbers"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_map_and_its_gradients(kind, shape):
    y, W, b, g = problem(kind, *shape)
    outputs, back = jax.vjp(jax.jit(kernels.bit_affine), y, W, b)
    exact_y, exact_W, exact_b, exact_g = exactly(y, W, b, g)
    oracle.assert_round_off(outputs, exact_y @ exact_W.T + exact_b)
    expected = exact_g @ exact_W, exact_g.T @ exact_y, exact_g.sum(0)
    for found, exact in zip(back(g), expected, strict=True):
        oracle.assert_round_off(found, exact)


def test_the_reference_is_the_same_map():
    y, W, b, g = problem("bits", 20, 7, 9)
    exact_y, exact_W, exact_b, exact_g = exactly(y, W, b, g)
    oracle.assert_round_off(bit_products.reference(y, W, b), exact_y @ exact_W.T + exact_b)
    for found, exact in zip(
        bit_products.reference_outer(g, y), (exact_g.T @ exact_y, exact_g.sum(0)), strict=True
    ):
        oracle.assert_round_off(found, exact)


def test_leading_dimensions_and_vmap():
    y, W, b, _ = problem("bits", 60, 11, 13)
    exact_y, exact_W, exact_b = exactly(y, W, b)
    expected = (exact_y @ exact_W.T + exact_b).reshape(3, 20, 11)
    shaped = y.reshape(3, 20, 13)
    oracle.assert_round_off(kernels.bit_affine(shaped, W, b), expected)
    oracle.assert_round_off(jax.vmap(kernels.bit_affine, (0, None, None))(shaped, W, b), expected)


@pytest.mark.skipif(kernels.status().in_use != "native", reason="XLA's products may be otherwise")
def test_a_row_is_the_same_among_any_others():
    y, W, b, _ = problem("bits", 64, 19, 210)
    whole = kernels.bit_affine(y, W, b)
    np.testing.assert_array_equal(kernels.bit_affine(y[13:53], W, b), whole[13:53])
