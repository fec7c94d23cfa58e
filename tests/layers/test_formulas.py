"""Each layer's logits against the paper's formula, written out unit by unit in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit

from tests.oracle import sharpen
from wakesleep.layers import create_layer, initialisation

D, C = 5, 3


@pytest.fixture
def x():
    return jnp.asarray([1, 0, 1, 1, 0], jnp.float32)


@pytest.fixture
def y():
    return jnp.asarray([0, 1, 1], jnp.float32)


def made(kind, key, **options):
    return sharpen(create_layer(kind, key, D, C, initialisation("default"), options), key)


def test_sbn(key, x, y):
    layer = made("sbn", key)
    expected = [layer.W[i] @ y + layer.b[i] for i in range(D)]
    np.testing.assert_allclose(layer.conditional_logits(x, y), expected, rtol=1e-5)


def test_ar_sbn_uses_only_earlier_units(key, x, y):
    layer = made("ar_sbn", key)
    expected = [layer.W[i] @ y + layer.S[i, :i] @ x[:i] + layer.b[i] for i in range(D)]
    np.testing.assert_allclose(layer.conditional_logits(x, y), expected, rtol=1e-5)


def test_nade(key, x, y):
    layer = made("nade", key, hidden=4)
    expected = [
        layer.V[i] @ expit(layer.W[:i].T @ x[:i] + layer.U_a @ y + layer.a)
        + layer.U_b[i] @ y
        + layer.b[i]
        for i in range(D)
    ]
    np.testing.assert_allclose(layer.conditional_logits(x, y), expected, rtol=1e-5)


def test_darn_is_an_ar_sbn_over_tanh_units(key, x, y):
    layer = made("darn", key, units=4)
    units = np.tanh(layer.A @ y + layer.c)
    inner = layer.inner
    expected = [inner.W[i] @ units + inner.S[i, :i] @ x[:i] + inner.b[i] for i in range(D)]
    np.testing.assert_allclose(layer.conditional_logits(x, y), expected, rtol=1e-5)


@pytest.mark.parametrize(("parents", "width"), [(0, 5), (3, 3), (9, 5)])
def test_nade_hidden_width_defaults_to_the_smaller_side(parents, width, key):
    layer = create_layer("nade", key, 5, parents, initialisation("default"))
    assert layer.a.shape == (width,)


def test_a_top_layer_has_no_deterministic_units(key):
    layer = create_layer("darn", key, 5, 0, initialisation("default"), {"units": 7})
    assert jax.tree.structure(layer) == jax.tree.structure(
        create_layer("ar_sbn", key, 5, 0, initialisation("default"))
    )


def test_the_paper_s_initialisation(key):
    layer = create_layer("sbn", key, 40, 60, initialisation("paper"))
    assert np.all(np.asarray(layer.b) == -1)
    limit = np.sqrt(6 / 100) / 60
    assert 0.99 * limit < np.abs(layer.W).max() <= limit * 1.0001
    assert np.all(np.asarray(create_layer("nade", key, 4, 6, initialisation("paper")).b) == 0)
