"""With a tolerance, samples go where the weights are bad, and the answer stays right."""

import jax
import numpy as np
import pytest

from tests.machines import small_machine
from tests.oracle import all_bits, exact_log_likelihood
from wakesleep.evaluation import log_likelihood
from wakesleep.evaluation.weight_statistics import WeightStatistics

X = np.asarray(all_bits(4), np.uint8)
MOST = 32 * 1024


def test_it_agrees_with_enumeration_and_saves_samples(key):
    machine = small_machine("sbn/sbn 2-3", scale=0.7)
    score = log_likelihood(machine, X, MOST, key=key, tolerance=0.02)
    exact = np.asarray(exact_log_likelihood(machine, X.astype(np.float32)))
    stopped = score.samples < MOST
    assert stopped.any()
    assert (score.standard_errors[stopped] <= 0.02).all()
    assert (np.abs(score.values - exact) <= 4 * score.standard_errors).all()
    assert abs(score.mean - exact.mean()) <= score.monte_carlo_error
    # The worse an example's weights, the more it was given.
    assert len(np.unique(score.samples)) > 1
    relative_variance = score.samples * np.square(score.standard_errors)
    assert np.corrcoef(relative_variance, score.samples)[0, 1] > 0.5


def test_stopping_does_not_bias_the_estimate(key):
    machine = small_machine("sbn/sbn 2-3", scale=0.7)
    repetitions = 25
    score = log_likelihood(machine, np.tile(X, (repetitions, 1)), 16_384, key=key, tolerance=0.05)
    exact = np.tile(exact_log_likelihood(machine, X.astype(np.float32)), repetitions)
    noise = np.sqrt(np.square(score.standard_errors).sum()) / len(score)
    assert abs((score.values - exact).mean()) < 3 * noise - score.bias
    assert score.samples.mean() < 16_384 / 2


def test_a_tolerance_never_met_is_the_fixed_estimate(key):
    machine = small_machine("sbn/sbn 2-3")
    fixed = log_likelihood(machine, X[:3], 3000, key=key)
    adaptive = log_likelihood(machine, X[:3], 3000, key=key, tolerance=1e-6)
    assert fixed.records.tobytes() == adaptive.records.tobytes()


def statistics(log_weights):
    made = WeightStatistics(1, log_weights.shape[1])
    made.add(log_weights)
    return made


def test_a_heavy_tail_is_not_trusted():
    log_weights = 0.95 * np.random.default_rng(1).exponential(size=(1, 4096))
    assert statistics(log_weights).tail.pareto_k() > 0.7
    assert not statistics(log_weights).within(10.0)


@pytest.mark.parametrize(("tolerance", "expected"), [(0.03, True), (0.005, False)])
def test_a_light_tail_is_judged_by_its_error(tolerance, expected):
    log_weights = np.asarray(jax.random.normal(jax.random.key(0), (1, 4096)))
    variance = statistics(log_weights).sums.relative_variances[0]
    assert np.sqrt(variance) == pytest.approx(0.0205, abs=0.003)
    assert statistics(log_weights).within(tolerance) is expected
