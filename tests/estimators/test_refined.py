"""Samples of q moved towards the posterior: right weights, and gradients that come closer."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from tests.estimators.sampling import BATCH, X, assert_mean_is, estimates
from tests.machines import SMALL, small_machine
from tests.oracle import (
    exact_log_likelihood,
    exact_p_gradient,
    exact_wake_q_gradient,
    flat,
)
from wakesleep.estimators import Refined, Reweighted
from wakesleep.estimators.refined import refine


def test_without_moves_it_is_reweighted(key):
    machine = small_machine("nade/ar_sbn 2-3", scale=0.7)
    one, other = (
        eqx.filter_jit(estimator.step)(machine, (), BATCH, key).gradients
        for estimator in (Refined(moves=0), Reweighted())
    )
    np.testing.assert_allclose(flat(one), flat(other), atol=1e-6)


@pytest.mark.parametrize("text", SMALL[:4])
def test_the_mean_weight_is_the_likelihood(text, key):
    """Whatever the moves do; a wrong ratio or a wrong temperature would show here."""
    machine = small_machine(text, scale=0.3)
    moved = eqx.filter_jit(refine)(machine, key, X, 20_000, 2)
    ratios = np.exp(moved.log_weights - exact_log_likelihood(machine, X)[:, None])
    assert_mean_is(ratios.T.astype(np.float64), np.ones(len(X)))
    assert any(bool(jnp.any(a != b)) for a, b in zip(moved.h, moved.start.h, strict=True))


@pytest.mark.parametrize("text", SMALL[4:])
def test_many_samples_climb_log_p_and_for_q_at_the_posterior(text, key):
    # Where ω reaches a thousand times its mean, few draws show how much it varies.
    machine = small_machine(text, scale=0.3)
    drawn = estimates(Refined(samples=2000, moves=2, sleep_q=0), machine, key, 30)
    exact = exact_p_gradient(machine, X), exact_wake_q_gradient(machine, X)
    for samples, gradient in zip(drawn, exact, strict=True):
        assert_mean_is(samples, flat(gradient), slack=5e-3)


def test_many_moves_of_one_sample_do_too(key):
    machine = small_machine("sbn/sbn 2-3", scale=0.5)
    exact = exact_p_gradient(machine, X), exact_wake_q_gradient(machine, X)
    away = []
    for moves in (0, 30, 200):
        drawn = estimates(Refined(samples=1, moves=moves, sleep_q=0), machine, key, 800)
        pairs = zip(drawn, exact, strict=True)
        away.append([np.linalg.norm(samples.mean(0) - flat(each)) for samples, each in pairs])
    none, some, many = np.array(away)
    # The mean of 800 is off by 0.03, its standard error.
    assert np.all(none > 2 * some)
    assert np.all(some > 2 * many)
    assert np.all(many < 0.15)


def test_moves_make_the_weights_more_even(key):
    machine = small_machine("sbn/sbn 2-3", scale=0.5)
    few, many = (
        np.asarray(eqx.filter_jit(refine)(machine, key, X, 2000, moves).log_weights).std(1)
        for moves in (0, 30)
    )
    assert np.all(many < 0.8 * few)
