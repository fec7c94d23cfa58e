"""Layers draw rare bits with their frequency, through whichever kernel is in use."""

import jax
import jax.numpy as jnp
import pytest
from scipy import special, stats

from wakesleep.layers import LAYERS, create_layer, initialisation


@pytest.mark.parametrize(("kind", "blocks"), [("sbn", 600), ("ar_sbn", 400), ("nade", 400)])
def test_bits_of_probability_1e_minus_8_and_its_complement(kind, blocks):
    """A uniform with a floor of 2^-23 would give twelve times as many, or none at all."""
    assert kind in LAYERS
    size, rows, probability = 64, 2**15, 1e-8
    logit = special.logit(probability)
    bias = jnp.where(jnp.arange(size) % 2 == 0, logit, -logit).astype(jnp.float32)
    layer = create_layer(kind, jax.random.key(0), size, 0, initialisation("default"))
    silent = jax.tree.map(jnp.zeros_like, layer).with_bias(bias)
    usual = (bias > 0).astype(jnp.float32)

    def count(total, i):
        x = silent.sample(jax.random.fold_in(jax.random.key(11), i), jnp.zeros(0), (rows,))
        return total + (x != usual).sum(), None

    unusual, _ = jax.jit(lambda: jax.lax.scan(count, 0, jnp.arange(blocks)))()
    expected = size * rows * blocks * probability
    low, high = stats.poisson.interval(0.999, expected)
    assert 0 < low <= int(unusual) <= high < 12 * expected
