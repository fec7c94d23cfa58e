"""Every registered layer kind, with and without parents, judged by listing all its states."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.oracle import all_bits, flat, sharpen
from wakesleep.layers import (
    INITIALISATIONS,
    LAYERS,
    create_layer,
    initialisation,
    option_rules,
    spec_of,
)

SIZE = 4
CASES = [(kind, parents, {}) for kind in LAYERS for parents in (0, 3)]
CASES += [(kind, 3, {"units": 2, "nonlinearity": "sigmoid"}) for kind in LAYERS]
CASES += [(kind, 3, {"order": 3}) for kind in LAYERS if "order" in option_rules(kind)]


def name_of(case):
    return "-".join([case[0], str(case[1]), *list(case[2])[:1]])


@pytest.fixture(params=CASES, ids=name_of)
def layer(request, key):
    kind, parents, options = request.param
    made = create_layer(kind, key, SIZE, parents, initialisation("default"), options)
    return sharpen(made, key, scale=1.0)


def parents_of(layer, *leading):
    y = jax.random.bernoulli(jax.random.key(5), 0.5, (*leading, layer.parents))
    return y.astype(jnp.float32)


def test_probabilities_sum_to_one_for_every_parent_state(layer):
    y = all_bits(layer.parents)
    log_prob = layer.log_prob(all_bits(SIZE)[:, None], y[None])
    np.testing.assert_allclose(jnp.exp(log_prob).sum(0), 1.0, rtol=1e-5)


def test_sample_frequencies_match_log_prob(layer, key):
    n = 200_000
    y = parents_of(layer)
    x = layer.sample(key, y, (n,))
    states = (x @ 2.0 ** jnp.arange(SIZE)[::-1]).astype(jnp.int32)
    frequency = np.bincount(np.asarray(states), minlength=2**SIZE) / n
    exact = np.exp(np.asarray(layer.log_prob(all_bits(SIZE), y), np.float64))
    error = np.sqrt(exact * (1 - exact) / n)
    assert np.all(np.abs(frequency - exact) < 4.5 * error + 3 / n)


def test_sample_with_log_prob_scores_its_own_sample(layer, key):
    y = parents_of(layer, 7, 1)
    x, log_prob = layer.sample_with_log_prob(key, y, (7, 3))
    assert x.shape == (7, 3, SIZE)
    assert set(np.unique(x)) <= {0.0, 1.0}
    np.testing.assert_allclose(log_prob, layer.log_prob(x, y), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(x, layer.sample(key, y, (7, 3)))


def test_gradient_through_sampling_is_that_of_the_score_with_the_sample_held_fixed(layer, key):
    y = parents_of(layer, 5, 1)
    x = layer.sample(key, y, (5, 3))
    through_sample = eqx.filter_grad(lambda m: m.sample_with_log_prob(key, y, (5, 3))[1].sum())
    of_score = eqx.filter_grad(lambda m: m.log_prob(x, y).sum())
    np.testing.assert_allclose(flat(through_sample(layer)), flat(of_score(layer)), atol=2e-5)


def test_broadcasting_over_samples_equals_repeating_the_parents(layer, key):
    y = parents_of(layer, 5, 1)
    x = layer.sample(key, y, (5, 3))
    repeated = jnp.broadcast_to(y, (5, 3, layer.parents))
    weights = jax.random.normal(key, (5, 3))

    def score(m, y):
        return (weights * m.log_prob(x, y)).sum()

    np.testing.assert_allclose(score(layer, y), score(layer, repeated), rtol=1e-5, atol=1e-5)
    grad = eqx.filter_grad(score)
    np.testing.assert_allclose(flat(grad(layer, y)), flat(grad(layer, repeated)), atol=2e-5)


def test_preactivations_follow_the_parents(layer, key):
    """Made once, shared by the samples of an example, and updated for other parents."""
    y = parents_of(layer, 5, 1)
    x = layer.sample(key, y, (5, 3))
    pre = layer.preactivations(y)
    np.testing.assert_allclose(layer.log_prob_given(x, pre), layer.log_prob(x, y), rtol=1e-5)
    np.testing.assert_allclose(layer.logits(x, pre), layer.conditional_logits(x, y), rtol=1e-5)
    other = (1 - y).at[:2].set(y[:2])
    updated = layer.updated_preactivations(pre, y, other)
    np.testing.assert_allclose(
        layer.log_prob_given(x, updated), layer.log_prob(x, other), rtol=1e-5, atol=1e-5
    )


def test_a_sampling_pass_needs_no_more_than_the_preactivations(layer, key):
    y = parents_of(layer, 5, 1)
    x, log_prob = layer.sample_pass(key, layer.preactivations(y), (5, 3))
    expected_x, expected_log_prob = layer.sample_with_log_prob(key, y, (5, 3))
    np.testing.assert_array_equal(x, expected_x)
    np.testing.assert_array_equal(log_prob, expected_log_prob)


def test_mean_is_the_probability_of_each_unit_given_the_sampled_ones_before_it(layer, key):
    """Averaged over many draws, the first unit's mean is its exact marginal."""
    y = parents_of(layer)
    mean = layer.mean(key, y, (50_000,))
    assert mean.shape == (50_000, SIZE)
    assert bool(((mean >= 0) & (mean <= 1)).all())
    states = all_bits(SIZE)
    marginals = jnp.exp(layer.log_prob(states, y)) @ states
    error = np.asarray(mean).std(0) / np.sqrt(50_000)
    assert np.all(np.abs(mean.mean(0) - marginals) < 4.5 * error + 1e-5)


@pytest.mark.parametrize("bias", [-100.0, 100.0])
def test_extreme_logits_give_finite_values_and_gradients(layer, bias, key):
    extreme = layer.with_bias(jnp.full(SIZE, bias))
    y = parents_of(layer, 2)
    for x in (jnp.zeros((2, SIZE)), jnp.ones((2, SIZE)), extreme.sample(key, y)):
        value, gradient = eqx.filter_value_and_grad(lambda m, x=x: m.log_prob(x, y).sum())(extreme)
        assert np.isfinite(value)
        assert np.isfinite(flat(gradient)).all()
    np.testing.assert_array_equal(extreme.sample(key, y), (bias > 0) * jnp.ones((2, SIZE)))


def test_with_bias_replaces_nothing_else(layer):
    bias = jnp.arange(SIZE, dtype=jnp.float32)
    moved = layer.with_bias(bias)
    np.testing.assert_array_equal(moved.bias, bias)
    assert jax.tree.structure(moved) == jax.tree.structure(layer)
    pairs = zip(jax.tree.leaves(layer), jax.tree.leaves(moved), strict=True)
    changed = [a.shape for a, b in pairs if not np.array_equal(a, b)]
    assert changed == [(SIZE,)]


def test_the_bias_is_added_to_the_logits(layer, key):
    y = parents_of(layer, 5)
    x = layer.sample(key, y)
    step = jnp.arange(SIZE, dtype=jnp.float32)
    moved = layer.with_bias(layer.bias + step).conditional_logits(x, y)
    np.testing.assert_allclose(moved - layer.conditional_logits(x, y), step + 0 * x, atol=1e-5)


def test_kind_and_options_create_the_same_shapes_again(layer, key):
    spec = spec_of(layer)
    again = create_layer(spec.kind, key, SIZE, layer.parents, initialisation("paper"), spec.options)
    assert jax.tree.structure(again) == jax.tree.structure(layer)
    assert [a.shape for a in jax.tree.leaves(again)] == [a.shape for a in jax.tree.leaves(layer)]


@pytest.mark.parametrize("init", INITIALISATIONS)
@pytest.mark.parametrize("kind", LAYERS)
def test_initial_weights_lie_within_the_named_range(kind, init, key):
    layer = create_layer(kind, key, 40, 60, initialisation(init))
    for name, leaf in vars(layer).items():
        if getattr(leaf, "ndim", 0) == 2:
            assert 0 < np.abs(leaf).max() <= 1.001 * np.sqrt(6 / 80)
        elif getattr(leaf, "ndim", 0) == 1:
            start = INITIALISATIONS[init].factorial_bias
            expected = start if (kind, name) == ("sbn", "b") else 0.0
            assert np.all(np.asarray(leaf) == expected)


def test_factorial_as_declared_agrees_with_what_the_logits_show(layer):
    """Judged by listing: no unit's logit changes with the state of the others."""
    y = parents_of(layer, 1)
    logits = layer.conditional_logits(all_bits(SIZE), y)
    assert layer.factorial == (len(logits) == 1)
    spread = np.ptp(np.broadcast_to(logits, (2**SIZE, SIZE)), axis=0)
    assert layer.factorial == bool((spread < 1e-6).all())
