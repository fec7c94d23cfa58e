"""Pareto k from the largest weights alone equals ArviZ's from all of them."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from wakesleep.evaluation.tail import Tail, tail_length


def heavy_log_weights(shape, samples, seed=0):
    return shape * np.random.default_rng(seed).exponential(size=(1, samples))


def fed(log_weights, blocks):
    tail = Tail(len(log_weights), log_weights.shape[1])
    for block in np.array_split(log_weights, blocks, axis=1):
        tail.add(block)
    return tail


@pytest.mark.parametrize("samples", [25, 200, 225, 226, 1000, 5000])
@pytest.mark.parametrize("shape", [0.2, 0.9])
def test_pareto_k_equals_arviz_on_all_weights(shape, samples):
    log_weights = heavy_log_weights(shape, samples) - 90
    _, expected = array_stats.psislw(-log_weights[0])
    assert fed(log_weights, 7).pareto_k()[0] == pytest.approx(float(expected), abs=1e-9)


def test_pareto_k_finds_the_shape_of_the_tail():
    light, heavy = (fed(heavy_log_weights(s, 20_000), 3).pareto_k()[0] for s in (0.3, 0.9))
    assert abs(light - 0.3) < 0.1
    assert abs(heavy - 0.9) < 0.1


def test_only_the_tail_is_kept():
    log_weights = heavy_log_weights(0.5, 100_000)
    kept = fed(log_weights, 100).kept
    assert kept.shape == (1, tail_length(100_000) + 1)
    np.testing.assert_array_equal(np.sort(kept[0]), np.sort(log_weights[0])[-kept.shape[1] :])


@pytest.mark.parametrize(
    "log_weights",
    [np.zeros((1, 1000)), np.repeat([[1.0, 2.0]], 500, axis=0).T.reshape(1, -1), np.ones((1, 24))],
)
def test_where_there_is_no_tail_there_is_no_k(log_weights):
    assert np.isnan(fed(log_weights, 2).pareto_k()).all()
