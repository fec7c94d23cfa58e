"""Following an affine map of bits from one vector to another, against the product in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.kernels import oracle
from wakesleep import kernels
from wakesleep.kernels import affine

SHAPES = [(0, 3, 5), (4, 0, 5), (4, 3, 0), (1, 1, 1), (5, 16, 17), (3, 31, 64), (130, 100, 40)]


def problem(samples, units, parents, changed, seed=0):
    random = np.random.default_rng(seed)
    W = random.normal(size=(units, parents)).astype(np.float32)
    b = random.normal(size=units).astype(np.float32)
    before = random.integers(0, 2, (samples, parents)).astype(np.float32)
    after = np.where(random.random(before.shape) < changed, 1 - before, before)
    outputs = (before @ W.T + b).astype(np.float32)
    expected = after.astype(np.float64) @ W.T.astype(np.float64) + b
    return tuple(map(jnp.asarray, (outputs, before, after.astype(np.float32), W))), expected


@pytest.mark.parametrize("changed", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_moved_outputs_are_those_of_the_new_bits(shape, changed):
    arguments, expected = problem(*shape, changed)
    moved = jax.jit(kernels.affine_update)(*arguments)
    oracle.assert_round_off(moved, expected)
    oracle.assert_round_off(affine.reference(*arguments), expected)


def test_what_did_not_change_keeps_its_bits():
    (outputs, before, _, W), _ = problem(7, 33, 20, 0.0)
    np.testing.assert_array_equal(kernels.affine_update(outputs, before, before, W), outputs)


def test_leading_dimensions():
    (outputs, before, after, W), expected = problem(12, 20, 9, 0.3)
    shaped = [array.reshape(4, 3, -1) for array in (outputs, before, after)]
    moved = kernels.affine_update(*shaped, W)
    oracle.assert_round_off(moved, expected.reshape(4, 3, 20))


def test_rounding_stays_small_over_many_moves():
    (outputs, before, _, W), _ = problem(20, 50, 30, 0.0)
    random = np.random.default_rng(1)
    for _ in range(500):
        after = jnp.asarray(np.where(random.random(before.shape) < 0.1, 1 - before, before))
        outputs, before = kernels.affine_update(outputs, before, after, W), after
    (fresh, first, _, _), _ = problem(20, 50, 30, 0.0)
    exact = (
        np.asarray(fresh, np.float64)
        + np.asarray(before - first, np.float64) @ np.asarray(W, np.float64).T
    )
    np.testing.assert_allclose(outputs, exact, atol=1e-4)
