"""Sigmoid and softplus to 1e-6 of their float64 values, wherever float32 has normal numbers."""

import jax
import jax.numpy as jnp
import numpy as np

from tests.kernels import oracle
from wakesleep import kernels
from wakesleep.numerics import softplus

Z = np.linspace(-100, 100, 200_001).astype(np.float32)
# Below this a float32 has fewer bits than 1e-6 asks for, and XLA flushes it to zero.
SMALLEST_NORMAL = np.finfo(np.float32).tiny


def assert_accurate(actual, expected):
    error = np.abs(np.asarray(actual, np.float64) - expected)
    assert (error <= 1e-6 * expected + SMALLEST_NORMAL).all()


def test_hidden_sigmoid():
    """With one hidden unit, V = 1 and c = 0 the logit is the hidden unit itself."""
    zero = jnp.zeros((1, 1))
    hidden = kernels.nade_logits(zero, jnp.asarray(Z)[:, None], zero, zero, jnp.ones((1, 1)))
    assert_accurate(hidden[:, 0], oracle.sigmoid(Z))


def test_hidden_sigmoid_after_a_one():
    """The same hidden unit, brought from a = 0 to z by a first bit whose W is z."""

    @jax.jit
    def hidden(z):
        x, V = jnp.array([[1.0, 0.0]]), jnp.array([[0.0], [1.0]])
        W = jnp.array([[1.0], [0.0]]) * z
        return kernels.nade_logits(x, jnp.zeros((8, 1)), jnp.zeros((1, 2)), W, V)[:, 1]

    z = Z[::500]
    expected = np.repeat(oracle.sigmoid(z)[:, None], 8, axis=1)
    assert_accurate([hidden(value) for value in z], expected)


def test_softplus():
    assert_accurate(softplus(jnp.asarray(Z)), np.logaddexp(0, Z.astype(np.float64)))
