"""Everything after the logits goes through a layer's emission."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.oracle import sharpen
from wakesleep.layers import (
    BERNOULLI,
    LAYERS,
    Bernoulli,
    Deterministic,
    create_layer,
    initialisation,
)


@dataclass(frozen=True)
class Scaled(Bernoulli):
    """Not a distribution: scores are a multiple of a Bernoulli's, so that its use shows."""

    factor: float = 3.0

    def log_prob(self, x, logits):
        return self.factor * BERNOULLI.log_prob(x, logits)

    def sample(self, key, logits, batch_shape):
        x, log_prob = BERNOULLI.sample(key, logits, batch_shape)
        return x, self.factor * log_prob

    def mean(self, logits):
        return BERNOULLI.mean(logits) / self.factor


def with_emission(layer, emission):
    if isinstance(layer, Deterministic):
        inner = with_emission(layer.inner, emission)
        return Deterministic(layer.A, layer.c, inner, layer.nonlinearity)
    fields = {name: value for name, value in vars(layer).items() if name != "emission"}
    return type(layer)(**fields, emission=emission)


@pytest.mark.parametrize("kind", LAYERS)
def test_a_layer_draws_scores_and_averages_by_its_emission(kind, key):
    layer = sharpen(create_layer(kind, key, 5, 3, initialisation("default")), key)
    other = with_emission(layer, Scaled())
    y = jnp.ones((6, 3))
    x, log_prob = layer.sample_with_log_prob(key, y)
    other_x, other_log_prob = other.sample_with_log_prob(key, y)
    np.testing.assert_array_equal(other_x, x)
    np.testing.assert_allclose(other_log_prob, 3 * log_prob, rtol=1e-6)
    np.testing.assert_allclose(other.log_prob(x, y), 3 * layer.log_prob(x, y), rtol=1e-6)
    np.testing.assert_allclose(other.mean(key, y), layer.mean(key, y) / 3, rtol=1e-6)


@pytest.mark.parametrize("kind", LAYERS)
def test_an_emission_is_no_leaf_and_equal_ones_make_equal_layers(kind, key):
    layer = create_layer(kind, key, 5, 3, initialisation("default"))
    same, other = with_emission(layer, Bernoulli()), with_emission(layer, Scaled())
    assert jax.tree.structure(same) == jax.tree.structure(layer)
    assert jax.tree.structure(other) != jax.tree.structure(layer)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(other))
