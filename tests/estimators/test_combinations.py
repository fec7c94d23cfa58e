"""All combinations of the layers' samples: the sum over them, unbiased, and what it climbs."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

from tests.estimators.sampling import BATCH, X, assert_mean_is, estimates
from tests.machines import small_machine
from tests.oracle import (
    exact_log_likelihood,
    exact_p_gradient,
    exact_wake_q_gradient,
    flat,
    layer_log_prob,
)
from wakesleep.estimators import Reweighted
from wakesleep.inference.combinations import combine, combined_log_likelihood
from wakesleep.models import FunctionModel
from wakesleep.recipe import Recipe, named_recipe
from wakesleep.recipe_files import recipe_from_record

DEEP = ["sbn/sbn 2-3", "sbn/sbn 2-2-2", "sbn/sbn(units=2) 2-3", "nade/ar_sbn 2-2"]


def listed(machine, x, h):
    """log p̂ of one example, from h_l `[K, H_l]`: every combination by itself."""
    samples, depth = len(h[0]), len(h)

    def log_prob(layer, v, y):
        return float(layer_log_prob(layer, v[None], np.zeros((1, 0)) if y is None else y[None])[0])

    proposed = [[log_prob(machine.q[0], v, x) for v in h[0]]]
    for layer, here, below in zip(machine.q[1:], h[1:], h[:-1], strict=True):
        means = [logsumexp([log_prob(layer, v, y) for y in below]) - np.log(samples) for v in here]
        proposed.append(means)
    terms = []
    for chosen in itertools.product(range(samples), repeat=depth):
        values = [x, *(h[level][k] for level, k in enumerate(chosen))]
        pairs = zip(machine.p, values, [*values[1:], None], strict=True)
        log_p = sum(log_prob(layer, v, y) for layer, v, y in pairs)
        terms.append(log_p - sum(proposed[level][k] for level, k in enumerate(chosen)))
    return logsumexp(terms) - depth * np.log(samples)


@eqx.filter_jit
def combined(machine, key, samples):
    drawn = machine.draw(key, X, samples)
    return combined_log_likelihood(combine(machine, drawn)), drawn.h


@pytest.mark.parametrize("text", DEEP)
def test_the_chain_of_matrices_sums_over_every_combination(text, key):
    machine = small_machine(text)
    values, h = combined(machine, key, 3)
    for row in (0, 2):
        alone = [np.asarray(layer[row], np.float64) for layer in h]
        exact = listed(machine, np.asarray(X[row], np.float64), alone)
        assert float(values[row]) == pytest.approx(exact, abs=2e-5)


@pytest.mark.parametrize("text", DEEP)
def test_its_mean_is_the_likelihood_for_any_number_of_samples(text, key):
    machine = small_machine(text, scale=0.7)
    draws = jax.vmap(lambda k: combined(machine, k, 2)[0])(jax.random.split(key, 20_000))
    ratios = np.exp(np.asarray(draws, np.float64) - exact_log_likelihood(machine, X))
    assert_mean_is(ratios, np.ones(len(X)))


@pytest.mark.parametrize("text", DEEP)
def test_its_pairs_have_the_samples_as_they_were_drawn(text, key):
    machine = small_machine(text)
    drawn = machine.draw(key, X, 3)
    again = combine(machine, drawn).as_drawn(drawn.h)
    np.testing.assert_allclose(again.log_p_terms, drawn.log_p_terms, atol=1e-5)
    np.testing.assert_allclose(again.log_q_terms, drawn.log_q_terms, atol=1e-5)


def test_it_varies_less_than_the_samples_as_they_were_drawn(key):
    machine = small_machine("sbn/sbn 2-2-2", scale=0.7)

    def both(k):
        drawn = machine.draw(k, X, 10)
        plain = (
            Reweighted(samples=10, combine=False).step(machine, (), BATCH, k).info.log_likelihood
        )
        return combined_log_likelihood(combine(machine, drawn)).mean(), plain

    combinations, plain = jax.vmap(both)(jax.random.split(key, 2000))
    assert np.var(combinations) < 0.8 * np.var(plain)


@pytest.mark.parametrize("text", DEEP[:3])
def test_many_samples_climb_log_p_and_for_q_at_the_posterior(text, key):
    machine = small_machine(text, scale=0.5)
    drawn = estimates(Reweighted(samples=300, combine=True, sleep_q=0), machine, key, 60)
    exact = exact_p_gradient(machine, X), exact_wake_q_gradient(machine, X)
    for samples, gradient in zip(drawn, exact, strict=True):
        assert_mean_is(samples, flat(gradient), slack=5e-3)


@pytest.mark.parametrize("text", ["sbn/nade 3", "nade/ar_sbn 2-2", "sbn|nade/sbn 2-2"])
def test_one_latent_layer_and_autoregressive_ones_have_nothing_to_combine(text, key):
    machine = small_machine(text)
    one, other = (
        Reweighted(combine=flag).step(machine, (), BATCH, key).gradients for flag in (True, False)
    )
    np.testing.assert_array_equal(flat(one), flat(other))


def test_it_is_the_default_but_not_the_papers():
    assert Recipe().estimator == Reweighted(combine=True)
    assert named_recipe("paper").estimator == Reweighted(combine=False)


def test_a_record_of_an_earlier_version_goes_on_without_it():
    assert not recipe_from_record({"samples": 7}, "here").estimator.combine
    assert not recipe_from_record({"estimator": "reweighted"}, "here").estimator.combine
    phased = {"estimator": {"name": "reweighted"}, "phases": [{"estimator": {"samples": 9}}]}
    (phase,) = recipe_from_record(phased, "here").expand()
    assert phase.estimator == Reweighted(samples=9, combine=False)
    for recipe in (Recipe(), Recipe(estimator="vimco")):
        assert recipe_from_record(recipe.to_dict(), "here") == recipe


def test_models_without_layers_are_trained_as_ever():
    model = FunctionModel(
        jnp.zeros(()),
        jnp.zeros(()),
        sample_q=lambda q, x, key: jax.random.bernoulli(key, 0.5, (3,)).astype(jnp.float32),
        log_p=lambda p, x, h: p * x.sum(),
        log_q=lambda q, h, x: q * h.sum(),
    )
    one, other = (
        Reweighted(combine=flag, sleep_q=0).step(model, (), BATCH, jax.random.key(0)).gradients
        for flag in (True, False)
    )
    np.testing.assert_array_equal(flat(one), flat(other))
