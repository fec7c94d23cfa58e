"""Independent bits: the kernels against a float64 oracle and their pure-JAX twins."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from scipy import special

from tests.kernels import oracle
from wakesleep import kernels, shares
from wakesleep.kernels import bernoulli_reference as reference
from wakesleep.random_bits import random_bits

Z = np.linspace(-100, 100, 100_001).astype(np.float32)
SIZES = [0, 1, 2, 3, 15, 16, 17, 33, 1001, 70_001]
# Keys that give some word of 4099 whose upper 31 bits are below 2^8, in either half.
RARE_SIZE = 4099
RARE_KEYS = [4940, 5197, 9131, 9473, 10846, 17909, 36840, 39279]
BATCHES = [
    ((4, 3), (4, 1)),
    ((4, 1), (4, 3)),
    ((4, 3), (1, 3)),
    ((4, 3), ()),
    ((3,), (4, 1)),
    ((0, 3), (0, 1)),
    ((), ()),
    ((90, 2), (90, 2)),
]


def problem(x_batch, logits_batch, units, scale=3.0):
    random = np.random.default_rng(units)
    x = random.integers(0, 2, (*x_batch, units)).astype(np.float32)
    logits = (scale * random.normal(size=(*logits_batch, units))).astype(np.float32)
    return jnp.asarray(x), jnp.asarray(logits)


def exact_log_prob(x, logits):
    x, logits = np.asarray(x, np.float64), np.asarray(logits, np.float64)
    return -np.logaddexp(0, (1 - 2 * x) * logits).sum(-1)


@pytest.mark.parametrize("size", SIZES)
def test_noise_is_the_reference_noise(size):
    key = jax.random.key(size)
    expected = np.asarray(reference.logistic_noise(key, (size,)))
    np.testing.assert_allclose(kernels.logistic_noise(key, (size,)), expected, 1e-6, 2e-7)


@pytest.mark.parametrize("seed", RARE_KEYS)
def test_rare_words_are_refined(seed):
    key = jax.random.key(seed)
    coarse = np.asarray(random_bits(key, (RARE_SIZE,), stream=0))
    fine = np.asarray(random_bits(key, (RARE_SIZE,), stream=1), np.float64)
    rare = coarse >> 1 < 2**8
    assert rare.any()
    tail = ((coarse >> 1) + np.where(rare, (fine + 0.5) * 2.0**-32, 0.5)) * 2.0**-32
    expected = special.logit(tail) * np.where(coarse & 1, 1, -1)
    noise = kernels.logistic_noise(key, (RARE_SIZE,))
    np.testing.assert_allclose(noise, expected, 1e-6, 2e-7)


@pytest.mark.parametrize("seed", RARE_KEYS)
@pytest.mark.parametrize("side", [-1, 1])
def test_draws_turn_where_the_noise_is(seed, side):
    """Logits a hair beside each element's noise, over the whole range, rare words included."""
    key = jax.random.key(seed)
    noise = reference.logistic_noise(key, (RARE_SIZE,))
    x, _ = kernels.bernoulli_sample(key, noise + side * (1e-6 * jnp.abs(noise) + 1e-6), ())
    np.testing.assert_array_equal(x, side > 0)


@pytest.mark.parametrize("units", [0, 1, 5, 16, 31, 200])
@pytest.mark.parametrize("batches", BATCHES)
def test_log_prob_and_gradient(batches, units):
    x, logits = problem(*batches, units)
    value, back = jax.vjp(lambda logits: kernels.bernoulli_log_prob(x, logits), logits)
    oracle.assert_round_off(value, exact_log_prob(x, logits), 1e-6)
    g = jax.random.normal(jax.random.key(0), value.shape)
    _, back_reference = jax.vjp(lambda logits: reference.log_prob(x, logits), logits)
    oracle.assert_round_off(back(g)[0], back_reference(g)[0], 2e-6)


@pytest.mark.parametrize("units", [0, 1, 5, 16, 31, 1000])
@pytest.mark.parametrize("batch", [(4, 1), (4, 3), (1, 3), (), (0, 3)])
def test_samples_are_the_reference_samples(batch, units):
    key = jax.random.key(units)
    shape = (0, 3) if 0 in batch else (4, 3)
    _, logits = problem((), batch, units)
    (x, log_prob), back = jax.vjp(
        lambda logits: kernels.bernoulli_sample(key, logits, shape), logits
    )
    noise = reference.logistic_noise(key, (*shape, units))
    np.testing.assert_array_equal(x, logits > noise)
    oracle.assert_round_off(log_prob, exact_log_prob(x, logits), 1e-6)
    g = jax.random.normal(key, log_prob.shape)
    _, back_reference = jax.vjp(lambda logits: reference.log_prob(x, logits), logits)
    oracle.assert_round_off(back((jnp.ones_like(x), g))[0], back_reference(g)[0], 2e-6)


def test_hardly_a_bit_differs_from_the_reference():
    key, shape = jax.random.key(8), (2000, 500)
    logits = 4 * jax.random.normal(key, shape)
    x, _ = kernels.bernoulli_sample(key, logits, shape[:1])
    differing = np.mean(np.asarray(x != (logits > reference.logistic_noise(key, shape))))
    assert differing < 1e-5


@pytest.mark.parametrize("bit", [0, 1])
def test_every_term_and_slope_is_accurate(bit):
    x, logits = jnp.full((Z.size, 1), float(bit)), jnp.asarray(Z)[:, None]
    tiny = np.finfo(np.float32).tiny
    value, back = jax.vjp(lambda logits: kernels.bernoulli_log_prob(x, logits), logits)
    np.testing.assert_allclose(value, exact_log_prob(x, logits), 1e-6, tiny)
    sign = 2 * bit - 1
    expected = sign * special.expit(-sign * Z.astype(np.float64))
    np.testing.assert_allclose(back(jnp.ones(Z.size))[0][:, 0], expected, 1e-6, tiny)


def test_long_rows_keep_their_digits():
    x, logits = problem((3,), (3,), 20_000, scale=0.01)
    np.testing.assert_allclose(
        kernels.bernoulli_log_prob(x, logits), exact_log_prob(x, logits), rtol=1e-6
    )
    confident = kernels.bernoulli_log_prob(jnp.ones(20_000), jnp.full(20_000, 12.0))
    np.testing.assert_allclose(confident, -20_000 * np.logaddexp(0, -12.0), rtol=2e-6)


def test_a_logit_that_is_no_number_shows():
    logits = jnp.zeros((2, 20)).at[0, 3].set(jnp.nan)
    value = kernels.bernoulli_log_prob(jnp.zeros((2, 20)), logits)
    _, drawn = kernels.bernoulli_sample(jax.random.key(0), logits, (2,))
    np.testing.assert_array_equal(jnp.isnan(value), [True, False])
    np.testing.assert_array_equal(jnp.isnan(drawn), [True, False])


def test_infinite_logits():
    logits = jnp.asarray([[jnp.inf, -jnp.inf]])
    x, drawn = kernels.bernoulli_sample(jax.random.key(0), logits, (1,))
    np.testing.assert_array_equal(x, [[1, 0]])
    np.testing.assert_allclose(drawn, [0], atol=1e-37)
    value = kernels.bernoulli_log_prob(jnp.asarray([[0.0, 0.0], [1.0, 0.0]]), logits)
    np.testing.assert_allclose(value, [-np.inf, 0], atol=1e-37)


def test_differentiation_through_scan_and_map():
    keys = jax.random.split(jax.random.key(1), 3)
    logits = jax.random.normal(jax.random.key(2), (7,))

    def total(logits, keys):
        def step(carry, key):
            x, log_prob = kernels.bernoulli_sample(key, logits, (5,))
            noise = kernels.logistic_noise(key, (7,))
            return carry + log_prob.sum() + (noise * logits).sum(), x

        return lax.scan(step, 0.0, keys)

    gradient, x = eqx.filter_jit(eqx.filter_grad(total, has_aux=True))(logits, keys)
    noise = sum(kernels.logistic_noise(key, (7,)) for key in keys)
    expected = (x - jax.nn.sigmoid(logits)).sum((0, 1)) + noise
    np.testing.assert_allclose(gradient, expected, rtol=1e-5)
    mapped, _ = jax.vmap(lambda key: kernels.bernoulli_sample(key, logits, (5,)))(keys)
    np.testing.assert_array_equal(mapped, x)


@pytest.mark.parametrize("among", [2, 3])
def test_a_share_has_the_draws_of_its_rows(among):
    """Also the native kernels, and where the words of a key's two streams meet inside a share."""
    logits, key = jnp.linspace(-3, 3, 33), jax.random.key(5)

    def sample(rows):
        bits, log_prob = kernels.bernoulli_sample(key, logits, (rows.shape[0],))
        return shares.Found((), (bits, log_prob, kernels.logistic_noise(key, (rows.shape[0], 5))))

    rows = jnp.zeros((6 * among, 1))
    cut = shares.of_all(sample, rows, shares.Split(among)).notes
    for part, whole in zip(cut, sample(rows).notes, strict=True):
        np.testing.assert_array_equal(part, whole)


def test_other_keys_use_the_reference():
    key = jax.random.key(0, impl="rbg")
    x, _ = kernels.bernoulli_sample(key, jnp.zeros(50), (4,))
    np.testing.assert_array_equal(x, reference.logistic_noise(key, (4, 50)) < 0)
