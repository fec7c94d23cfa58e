import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.oracle import sharpen
from wakesleep.architecture import build
from wakesleep.data import PackedBits
from wakesleep.layers import LAYERS
from wakesleep.runs.fields import generative_fields, inference_fields, scaled, strongest
from wakesleep.runs.latent_use import latent_use


@pytest.mark.parametrize("kind", LAYERS)
def test_every_kind_of_layer_has_fields(kind, key):
    model = sharpen(build(f"{kind}/{kind} 3-4", features=6, key=key), key)
    for fields in (generative_fields(model), inference_fields(model)):
        assert fields.shape == (4, 6)
        assert np.abs(fields).max() > 0


def test_the_fields_of_an_sbn_are_its_weights(key):
    model = sharpen(build("sbn/sbn 3-4", features=6, key=key), key)
    np.testing.assert_allclose(generative_fields(model), model.p[0].W.T, atol=1e-5)
    np.testing.assert_allclose(inference_fields(model), model.q[0].W, atol=1e-5)


def test_the_strongest_come_first_each_on_its_own_scale():
    fields = np.array([[0, 1], [-4, 2], [0, 0]], np.float32)
    assert strongest(fields, 2).tolist() == [[-4, 2], [0, 1]]
    assert scaled(fields).tolist() == [[0.5, 1], [0, 0.75], [0.5, 0.5]]


def test_a_unit_is_alive_if_and_only_if_it_heeds_the_data(key):
    """Of three units one copies a bit, one is a fair coin, one is always off."""
    model = build("sbn/sbn 3", features=2, key=key)
    W = jnp.array([[40.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    b = jnp.array([-20.0, 0.0, -20.0])
    layer = type(model.q[0])(W, b)
    model = type(model)(model.p, (layer,))
    rows = PackedBits.pack(np.random.default_rng(0).integers(0, 2, (400, 2)))
    (use,) = latent_use(model, rows, key=jax.random.key(1))
    assert use.alive == 1
    assert use.units == 3
    np.testing.assert_allclose(use.activity, [0.25, 0, 0], atol=0.004)
    np.testing.assert_allclose(use.mean, [0.5, 0.5, 0], atol=0.08)
