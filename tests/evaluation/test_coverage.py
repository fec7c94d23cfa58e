"""Intervals cover the exact value as often as they say, over 500 repetitions."""

import jax
import numpy as np
import pytest

from tests.machines import small_machine
from tests.oracle import all_bits, exact_log_likelihood
from wakesleep import sample
from wakesleep.evaluation import log_likelihood

REPETITIONS = 500
# 95% plus or minus three standard errors of a frequency over 500 repetitions.
LOWEST, HIGHEST = 0.92, 0.98

X = np.asarray(all_bits(4), np.uint8)


@pytest.fixture(scope="module")
def machine():
    return small_machine("sbn/sbn 2-3", scale=0.5)


@pytest.fixture(scope="module")
def exact(machine):
    return np.asarray(exact_log_likelihood(machine, X.astype(np.float32)), np.float64)


@pytest.fixture(scope="module")
def repeated(machine):
    """All 16 vectors of bits, evaluated with 200 samples, 500 times over."""
    return log_likelihood(machine, np.tile(X, (REPETITIONS, 1)), 200, key=jax.random.key(4))


def coverage(score, truth, half_width):
    parts = [score.take(rows) for rows in np.split(np.arange(len(score)), REPETITIONS)]
    return np.mean([abs(part.mean - truth) <= half_width(part) for part in parts])


def test_monte_carlo_interval_covers_the_mean_of_these_examples(exact, repeated):
    covered = coverage(repeated, exact.mean(), lambda part: part.monte_carlo_error)
    assert covered >= LOWEST
    # The allowances for the bias and for the variance's own error make it a little too wide.
    half = coverage(repeated, exact.mean(), lambda part: part.monte_carlo_error / 2)
    assert half < 0.9


def test_interval_covers_the_mean_over_all_data(machine, exact, key):
    truth = (np.exp(exact) * exact).sum()
    data = sample(machine, REPETITIONS * 30, key=jax.random.key(8))
    score = log_likelihood(machine, data, 24, key=key, defensive=0)
    assert LOWEST <= coverage(score, truth, lambda part: part.confidence) <= HIGHEST
    # Where the samples are few, forgetting their noise and bias would show.
    noisy = log_likelihood(machine, data, 2, key=key)
    assert coverage(noisy, truth, lambda part: part.test_set_error) < 0.7


def test_standard_errors_and_biases_are_those_over_repetitions(exact, repeated):
    values = repeated.values.reshape(REPETITIONS, 16)
    claimed = np.sqrt(np.square(repeated.standard_errors).reshape(REPETITIONS, 16).mean(axis=0))
    np.testing.assert_allclose(values.std(axis=0), claimed, rtol=0.15)
    bias = repeated.biases.reshape(REPETITIONS, 16).mean(axis=0)
    noise = values.std(axis=0) / np.sqrt(REPETITIONS)
    assert (np.abs(values.mean(axis=0) - exact - bias) < 4 * noise).all()
