"""The order of an autoregressive layer's units: the same for ever, and groups stay together."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep as ws
from wakesleep.layers import BERNOULLI, Groups
from wakesleep.layers.order import unit_order
from wakesleep.storage import model_header, model_shapes


def test_orders_never_change():
    """Numbers in files name these orders: another NumPy must not give others."""
    assert unit_order(0, BERNOULLI, 8).units == ()
    assert unit_order(1, BERNOULLI, 8).units == (6, 3, 7, 1, 4, 0, 2, 5)
    assert unit_order(2, BERNOULLI, 8).units == (4, 2, 6, 5, 0, 7, 1, 3)
    assert unit_order(-1, BERNOULLI, 4).units == (3, 2, 1, 0)
    assert unit_order(-3, BERNOULLI, 6).units == (5, 2, 4, 1, 3, 0)
    assert unit_order(-3, BERNOULLI, 7).units == (5, 2, 4, 1, 6, 3, 0)


def test_backwards_the_last_group_comes_first():
    order = unit_order(-1, Groups((3, 1, 2)), 6)
    assert order.units == (4, 5, 3, 0, 1, 2)
    assert order.following == (2, 2, 3, 6, 6, 6)


def test_groups_change_places_as_a_whole():
    order = unit_order(5, Groups((3, 1, 2)), 6)
    groups = {(0, 1, 2), (3,), (4, 5)}
    at = 0
    while at < 6:
        (found,) = [each for each in groups if order.units[at : at + len(each)] == each]
        assert order.following[at : at + len(found)] == (at + len(found),) * len(found)
        at += len(found)
    assert order.units != tuple(range(6))
    assert [order.units[place] for place in order.places] == list(range(6))


def test_values_and_gradients_go_there_and_back(key):
    order = unit_order(3, BERNOULLI, 5)
    values = jax.random.normal(key, (2, 5))
    np.testing.assert_array_equal(order.take(values), np.asarray(values)[:, list(order.units)])
    np.testing.assert_array_equal(order.put_back(order.take(values)), values)
    weights = jnp.arange(5.0)
    gradient = jax.grad(lambda v: (order.take(v) * weights).sum())(values)
    np.testing.assert_array_equal(gradient, np.tile(order.put_back(weights), (2, 1)))


def test_a_header_without_an_order_has_none(key, tmp_path):
    """Files of before have no such option."""
    header = model_header(ws.build("nade/ar_sbn 3", features=4, key=key)) | {"format": 2}
    for layer in (*header["layers"]["p"], *header["layers"]["q"]):
        assert layer["options"].pop("order") == 0
    shapes = model_shapes(header, tmp_path)
    assert [layer.order for layer in (*shapes.p, *shapes.q)] == [0, 0, 0]


@pytest.mark.parametrize("kind", ["nade", "ar_sbn", "darn"])
def test_the_first_unit_of_an_order_sees_no_other(kind, key):
    model = ws.build(f"{kind}(order=6, units=2)|sbn/sbn 3", features=6, key=key)
    layer, first = model.p[0], unit_order(6, BERNOULLI, 6).units[0]
    assert layer.place(first) == 0
    assert unit_order(0, BERNOULLI, 6).place(first) == first
    x = jax.random.bernoulli(key, 0.5, (20, 6)).astype(jnp.float32)
    spread = np.ptp(layer.conditional_logits(x, jnp.zeros(3)), axis=0)
    assert first != 0
    assert np.flatnonzero(spread < 1e-7).tolist() == [first]
