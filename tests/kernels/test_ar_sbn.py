"""AR-SBN's sampling kernel against a float64 oracle and its pure-JAX twin."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.kernels import oracle
from wakesleep import kernels
from wakesleep.kernels import ar_sbn
from wakesleep.numerics import logistic_noise

SHAPES = [(0, 3), (1, 1), (5, 15), (3, 16), (65, 17), (130, 100)]


def problem(samples, units, scale=0.5):
    random = np.random.default_rng(0)
    c = jnp.asarray(random.normal(size=(samples, units)), jnp.float32)
    S = jnp.asarray(scale * random.normal(size=(units, units)), jnp.float32)
    return logistic_noise(jax.random.key(0), (samples, units)), c, S


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("shift", [-100.0, -2.0, 0.0, 100.0])
def test_sample_and_logits(shape, shift):
    noise, c, S = problem(*shape)
    c = c + shift
    x, logits = jax.jit(kernels.ar_sbn_sample)(noise, c, S)
    np.testing.assert_array_equal(x, logits > noise)
    oracle.assert_round_off(logits, oracle.ar_sbn_logits(x, c, S))
    np.testing.assert_array_equal(x, ar_sbn.reference(noise, c, S)[0])


def test_upper_triangle_is_not_read():
    noise, c, S = problem(5, 40)
    poisoned = jnp.where(np.tri(40, k=-1), S, jnp.nan)
    np.testing.assert_array_equal(
        kernels.ar_sbn_sample(noise, c, poisoned)[1], kernels.ar_sbn_sample(noise, c, S)[1]
    )


@pytest.mark.parametrize("batch", [(4, 3), (4, 1), (3,), ()])
def test_gradients_hold_x_fixed_and_sum_over_what_was_broadcast(batch):
    noise, c, S = problem(12, 20)
    noise = noise.reshape(4, 3, 20)
    c = c[: int(np.prod(batch))].reshape(*batch, 20)
    g = jax.random.normal(jax.random.key(1), noise.shape)
    (x, _), back = jax.vjp(lambda c, S: kernels.ar_sbn_sample(noise, c, S), c, S)
    actual = back((jnp.ones_like(x), g))

    def fixed(c, S):
        return x @ jnp.tril(S, -1).T + c

    for mine, expected in zip(actual, jax.vjp(fixed, c, S)[1](g), strict=True):
        oracle.assert_round_off(mine, np.asarray(expected))
