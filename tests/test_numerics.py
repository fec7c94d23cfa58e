import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from wakesleep.numerics import (
    affine,
    bernoulli_log_prob,
    log_mean_exp,
    logistic_from_bits,
    logistic_noise,
    softplus,
)


def test_softplus_and_its_gradient_match_float64_over_the_whole_range():
    z = np.linspace(-100, 100, 4001)
    exact = np.logaddexp(0, z)
    value = np.asarray(softplus(jnp.asarray(z, jnp.float32)), np.float64)
    slope = np.asarray(jax.vmap(jax.grad(softplus))(jnp.asarray(z, jnp.float32)))
    # float32 cannot represent e^-100; what underflows is below 1e-37 and counts as right.
    np.testing.assert_allclose(value, exact, rtol=1e-5, atol=1e-37)
    np.testing.assert_allclose(slope, special.expit(z), rtol=1e-5, atol=1e-37)


@pytest.mark.parametrize("logit", [-100.0, 100.0])
@pytest.mark.parametrize("bit", [0.0, 1.0])
def test_log_probability_is_finite_and_right_at_extreme_logits(bit, logit):
    x, logits = jnp.asarray([bit]), jnp.asarray([logit])
    value, gradient = jax.value_and_grad(lambda logits: bernoulli_log_prob(x, logits))(logits)
    assert value == pytest.approx(-np.logaddexp(0, (1 - 2 * bit) * logit), abs=1e-6)
    assert gradient[0] == pytest.approx(bit - special.expit(logit), abs=1e-6)


def test_log_probability_keeps_its_digits_over_many_confident_units():
    logits = jnp.full(784, 12.0)
    x = jnp.ones(784)
    exact = -784 * np.logaddexp(0, -12.0)
    assert float(bernoulli_log_prob(x, logits)) == pytest.approx(exact, rel=1e-5)


def test_noise_is_logistic(key):
    noise = np.asarray(logistic_noise(key, (200_000,)))
    assert stats.kstest(noise, stats.logistic.cdf).pvalue > 1e-3


@pytest.mark.parametrize("probability", [1e-9, 1e-10, 3e-8])
@pytest.mark.parametrize("sign", [1, -1])
def test_rare_events_have_their_frequency(key, probability, sign):
    """Splitting: force the rare first words, whose chance is known, and count what they give."""
    key_coarse, key_fine = jax.random.split(key)
    n, words = 1_000_000, 2**9
    coarse = jax.random.randint(key_coarse, (n,), 0, words).astype(jnp.uint32)
    fine = jax.random.bits(key_fine, (n,))
    noise = logistic_from_bits(coarse, fine)
    logit = special.logit(probability)
    hits = int(jnp.sum(sign * noise < logit))
    chance = probability / (words / 2**32)
    assert stats.binomtest(hits, n, chance).pvalue > 1e-3


def test_a_bernoulli_of_1e_minus_8_is_drawn_with_that_frequency():
    """The direct count: a uniform with a floor of 2^-23 would give 12 times as many, or none."""
    block, blocks, probability = 2**21, 400, 1e-8
    logit = jnp.float32(special.logit(probability))

    def count(total, i):
        noise = logistic_noise(jax.random.fold_in(jax.random.key(3), i), (block,))
        return total + (logit > noise).sum() + (noise > -logit).sum(), None

    hits, _ = jax.jit(lambda: jax.lax.scan(count, 0, jnp.arange(blocks)))()
    expected = 2 * block * blocks * probability
    low, high = stats.poisson.interval(0.999, expected)
    assert low <= int(hits) <= high
    assert low > 0
    assert high < expected * 2**-23 / probability


def test_log_mean_exp_does_not_overflow():
    values = jnp.asarray([[1000.0, 1000.0], [-1000.0, -1001.0]])
    exact = [1000.0, -1000 + np.log((1 + np.exp(-1)) / 2)]
    np.testing.assert_allclose(log_mean_exp(values), exact, rtol=1e-6)


def test_affine_is_a_matrix_product_over_any_leading_dimensions(key):
    W, b = jax.random.normal(key, (3, 4)), jnp.arange(3.0)
    for shape in ((4,), (5, 4), (2, 1, 4), (0, 4), (2, 3, 5, 4)):
        y = jax.random.normal(key, shape)
        np.testing.assert_allclose(affine(y, W, b), y @ W.T + b, rtol=1e-5, atol=1e-5)
    assert affine(jnp.zeros((2, 0)), jnp.zeros((3, 0)), b).tolist() == [[0.0, 1.0, 2.0]] * 2
