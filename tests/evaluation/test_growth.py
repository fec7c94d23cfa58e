"""The bias under heavy tails, against weights whose mean is known."""

import numpy as np
import pytest
from scipy.special import logsumexp

from wakesleep.evaluation.growth import CHUNKS, Growth, gain_to_come
from wakesleep.evaluation.tail import Tail


def pareto_weights(shape, examples, samples, seed):
    """log weights with a Pareto tail of this shape and a mean of 1."""
    uniform = np.random.default_rng(seed).random((examples, samples))
    return -shape * np.log(uniform) + np.log(1 - shape)


def feed(log_weights, block):
    growth = Growth()
    for part in np.split(log_weights, range(block, log_weights.shape[1], block), axis=1):
        growth.add(part)
    return growth


def test_gains_are_those_of_the_estimate_over_four_doublings():
    log_weights = pareto_weights(0.6, 5, 640, seed=0)
    sixteenths = logsumexp(log_weights.reshape(5, CHUNKS, 40), axis=2) - np.log(40)
    whole = logsumexp(log_weights, axis=1) - np.log(640)
    np.testing.assert_allclose(feed(log_weights, 640).gains(), whole - sixteenths.mean(axis=1))


def test_blocks_change_nothing_but_the_grouping():
    log_weights = pareto_weights(0.6, 400, 1600, seed=1)
    one, many = (feed(log_weights, block).gains() for block in (1600, 160))
    assert one.mean() == pytest.approx(many.mean(), rel=0.1)


def test_too_few_samples_say_nothing():
    assert feed(np.zeros((2, CHUNKS - 1)), CHUNKS).gains() is None
    assert (feed(np.zeros((2, CHUNKS)), CHUNKS).gains() == 0).all()


@pytest.mark.parametrize("shape", [0.7, 0.8, 0.9])
def test_the_gain_to_come_is_the_bias_of_the_mean_to_within_a_factor_of_two(shape):
    """Averaged over examples: E log p̂ is 0 minus the bias, for weights with mean 1."""
    log_weights = pareto_weights(shape, 2000, 2048, seed=2)
    bias = -(logsumexp(log_weights, axis=1) - np.log(2048)).mean()
    known = np.full(2000, shape)
    claimed = gain_to_come(feed(log_weights, 1024).gains(), known).mean()
    assert bias / 2 < claimed < 2.5 * bias


def test_log_normal_weights_are_not_taken_for_harmless():
    """Spread as in a deep machine: growth sees the bias, half the variance a part of it."""
    spread = 4.0
    drawn = np.random.default_rng(3).normal(-(spread**2) / 2, spread, (500, 8192))
    bias = -(logsumexp(drawn, axis=1) - np.log(8192)).mean()
    growth, tail = feed(drawn, 1024), Tail(500, 8192)
    tail.add(drawn)
    plain = np.exp(logsumexp(2 * drawn, axis=1) - 2 * logsumexp(drawn, axis=1)).mean() / 2
    claimed = gain_to_come(growth.gains(), tail.pareto_k()).mean()
    assert plain < 0.5 * bias
    assert 0.5 * bias < claimed < 2.5 * bias
