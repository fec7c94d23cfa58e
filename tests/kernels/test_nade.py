"""NADE's kernels against a float64 oracle and against each other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from tests.kernels import oracle
from wakesleep import kernels
from wakesleep.kernels import nade_reference
from wakesleep.numerics import logistic_noise

SHAPES = [
    (0, 3, 2),
    (2, 0, 3),
    (1, 1, 1),
    (3, 1, 5),
    (5, 7, 1),
    (17, 33, 15),
    (16, 16, 16),
    (9, 70, 17),
    (33, 129, 200),
    (300, 12, 40),
]


def problem(samples, units, hidden, *, ones=0.3, scale=1.0, seed=0):
    """x, a, c, W, V and a gradient of the logits, as NumPy arrays."""
    random = np.random.default_rng(seed)
    draw = lambda *shape: (scale * random.normal(size=shape)).astype(np.float32)  # noqa: E731
    x = (random.random((samples, units)) < ones).astype(np.float32)
    arrays = draw(samples, hidden), draw(samples, units), draw(units, hidden), draw(units, hidden)
    return x, *arrays, random.normal(size=(samples, units)).astype(np.float32)


@jax.jit
def logits_and_gradients(x, a, c, W, V, g):
    logits, back = jax.vjp(lambda *p: kernels.nade_logits(x, *p), a, c, W, V)
    return logits, back(g)


def assert_right(x, a, c, W, V, g, tolerance=1e-5):
    logits, gradients = logits_and_gradients(x, a, c, W, V, g)
    oracle.assert_round_off(logits, oracle.nade_logits(x, a, c, W, V), tolerance)
    expected = oracle.nade_gradients(g, x, a, W, V)
    for actual, wanted in zip(gradients, expected, strict=True):
        oracle.assert_round_off(actual, wanted, tolerance)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ones", [0.0, 0.13, 1.0])
def test_logits_and_gradients_are_the_oracles(shape, ones):
    assert_right(*problem(*shape, ones=ones))


@settings(max_examples=30, deadline=None)
@given(
    samples=st.integers(0, 40),
    units=st.integers(1, 90),
    hidden=st.integers(1, 70),
    ones=st.floats(0, 1),
    scale=st.sampled_from([0.01, 1.0, 5.0]),
    seed=st.integers(0, 2**16),
)
def test_any_shape_is_the_oracles(samples, units, hidden, ones, scale, seed):
    assert_right(*problem(samples, units, hidden, ones=ones, scale=scale, seed=seed), 1e-4)


@pytest.mark.parametrize("samples", [1, 20])
@pytest.mark.parametrize("scale", [30.0, 100.0])
def test_saturated_hidden_units_come_back(samples, scale):
    """Pre-activations that wander far beyond ±100 and return: no overflow is remembered."""
    x, a, c, W, V, g = problem(samples, 40, 20, ones=0.5, scale=scale)
    V = V / scale
    W[20:] = -W[:20]
    x[:, 20:] = x[:, :20]
    assert_right(x, a, c, W, V, g, 1e-4)


def test_extreme_logits():
    x, a, c, W, V, g = problem(20, 30, 10)
    c = np.where(np.arange(30) % 2, 100, -100).astype(np.float32) + 0 * c
    assert_right(x, a, c, W, V, g)


def test_not_a_number_is_passed_on():
    x, a, c, W, V, g = problem(20, 30, 10, ones=1.0)
    W[3, 4] = np.nan
    logits, gradients = logits_and_gradients(x, a, c, W, V, g)
    assert np.isfinite(logits[:, :4]).all()
    assert np.isnan(logits[:, 4:]).all()
    assert np.isnan(gradients[2][:, 4]).any()


@pytest.mark.parametrize(
    ("x_batch", "a_batch", "c_batch"),
    [((4, 3), (4, 1), (4, 3)), ((4, 1), (4, 3), (4, 3)), ((4, 3), (), ()), ((4, 3), (3,), (1, 1))],
)
def test_leading_dimensions_broadcast(x_batch, a_batch, c_batch):
    x, a, c, W, V, g = problem(12, 20, 10)
    cut = lambda array, batch: array[: int(np.prod(batch))].reshape(*batch, -1)  # noqa: E731
    x, a, c, g = cut(x, x_batch), cut(a, a_batch), cut(c, c_batch), g.reshape(4, 3, -1)
    logits, gradients = logits_and_gradients(x, a, c, W, V, g)

    whole = [np.broadcast_to(v, (4, 3, v.shape[-1])).reshape(12, -1) for v in (x, a, c)]
    oracle.assert_round_off(logits, oracle.nade_logits(*whole, W, V).reshape(4, 3, -1))
    da, dc, dW, dV = oracle.nade_gradients(g.reshape(12, -1), whole[0], whole[1], W, V)
    for actual, full, operand in ((gradients[0], da, a), (gradients[1], dc, c)):
        summed = jax.vjp(lambda v: jnp.broadcast_to(v, (4, 3, v.shape[-1])), operand)[1](
            jnp.asarray(full.reshape(4, 3, -1), jnp.float32)
        )[0]
        oracle.assert_round_off(actual, np.asarray(summed))
    oracle.assert_round_off(gradients[2], dW)
    oracle.assert_round_off(gradients[3], dV)


@pytest.mark.parametrize(("examples", "samples"), [(70, 5), (45, 7), (3, 50), (130, 2)])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_samples_that_share_their_bits(examples, samples, scale):
    """They walk back in groups, of which more are needed than fit at once."""
    x, a, c, W, V, g = problem(examples * samples, 70, 40, ones=0.3, scale=scale)
    V = V / scale
    shared = x[::samples]
    fold = lambda array: array.reshape(examples, samples, -1)  # noqa: E731
    _, gradients = logits_and_gradients(shared[:, None], fold(a), fold(c), W, V, fold(g))
    expected = oracle.nade_gradients(g, np.repeat(shared, samples, axis=0), a, W, V)
    for actual, wanted in zip(gradients, expected, strict=True):
        oracle.assert_round_off(actual.reshape(wanted.shape), wanted, 1e-4)


@pytest.mark.parametrize("shape", SHAPES)
def test_same_noise_gives_the_references_sample(shape):
    _, a, c, W, V, g = map(jnp.asarray, problem(*shape, scale=0.5))
    noise = logistic_noise(jax.random.key(1), g.shape)
    x, logits = kernels.nade_sample(noise, a, c, W, V)
    expected_x, expected_logits = nade_reference.draw(noise, a, c, W, V)[:2]
    np.testing.assert_array_equal(x, expected_x)
    oracle.assert_round_off(logits, np.asarray(expected_logits))


def test_a_samples_gradient_is_that_of_its_logits_with_x_fixed():
    _, a, c, W, V, g = map(jnp.asarray, problem(20, 30, 10))
    noise = logistic_noise(jax.random.key(1), g.shape)
    (x, _), back = jax.vjp(lambda *p: kernels.nade_sample(noise, *p), a, c, W, V)
    expected = oracle.nade_gradients(g, x, a, W, V)
    for actual, wanted in zip(back((jnp.ones_like(x), g)), expected, strict=True):
        oracle.assert_round_off(actual, wanted)


def test_references_gradient_is_autodiffs():
    x, a, _, W, V, g = map(jnp.asarray, problem(6, 20, 10))
    _, back, last = jax.vjp(lambda *p: nade_reference.effects(x, *p), a, W, V, has_aux=True)
    actual = nade_reference.gradient(g, x, last, W, V)
    for mine, autodiffs in zip(actual, back(g), strict=True):
        oracle.assert_round_off(mine, np.asarray(autodiffs))


def test_works_under_vmap_and_scan():
    x, a, c, W, V, g = problem(6, 20, 10)
    expected = oracle.nade_gradients(g, x, a, W, V)[0]

    def gradient_of_a(x, a, c, g):
        return logits_and_gradients(x[None], a[None], c[None], W, V, g[None])[1][0][0]

    oracle.assert_round_off(jax.vmap(gradient_of_a)(x, a, c, g), expected)
    _, scanned = lax.scan(lambda _, step: (None, gradient_of_a(*step)), None, (x, a, c, g))
    oracle.assert_round_off(scanned, expected)


def test_vmap_over_weights():
    x, a, c, W, V, _ = map(jnp.asarray, problem(6, 20, 10))
    several = jnp.stack([W, 2 * W, -W])
    result = jax.vmap(lambda W: kernels.nade_logits(x, a, c, W, V))(several)
    for actual, weights in zip(result, several, strict=True):
        oracle.assert_round_off(actual, oracle.nade_logits(x, a, c, weights, V))
