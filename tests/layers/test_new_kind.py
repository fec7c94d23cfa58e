"""A kind of layer that this file alone defines: its class, and one line in the registry."""

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from tests.layers import test_contract as contract
from tests.oracle import flat, sharpen
from wakesleep.architecture import build, describe
from wakesleep.errors import UsageError
from wakesleep.layers import BERNOULLI, LAYERS, Emission, Kind, Layer, create_layer, initialisation
from wakesleep.options import Choice, Fraction, Rule, Whole
from wakesleep.storage import load_model, save_model


class LowRank(Layer):
    """P(x_i = 1 | y) = σ((1 - leak) A_i f(B y + a) + b_i), a few directions for many parents."""

    A: Float[Array, "D R"]
    B: Float[Array, "R C"]
    a: Float[Array, " R"]
    b: Float[Array, " D"]
    leak: float = eqx.field(static=True)
    link: str = eqx.field(static=True)
    emission: Emission = eqx.field(static=True, default=BERNOULLI)

    factorial: ClassVar[bool] = True
    option_rules: ClassVar[Mapping[str, Rule]] = MappingProxyType(
        {"rank": Whole(least=1), "leak": Fraction(), "link": Choice(("identity", "relu"))}
    )

    @classmethod
    def create(cls, key, size, parents, init, *, rank=None, leak=0.0, link="identity"):
        rank = rank or min(size, parents) or size
        key_A, key_B = jax.random.split(key)
        A, B = init.weights(key_A, size, rank), init.weights(key_B, rank, parents)
        return cls(A, B, jnp.zeros(rank), jnp.zeros(size), leak, link)

    @property
    def rank(self):
        return self.a.shape[0]

    @property
    def bias(self):
        return self.b

    @property
    def parent_maps(self):
        return ((self.B, self.a),)

    def logits(self, x, pre):
        directions = jax.nn.relu(pre[0]) if self.link == "relu" else pre[0]
        return (1 - self.leak) * directions @ self.A.T + self.b

    def draw_units(self, noise, pre):
        logits = self.logits(None, pre)
        return self.emission.decide(logits, noise), logits


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(LAYERS, "low_rank", Kind(LowRank))


CONTRACT = [name for name in dir(contract) if name.startswith("test_")]
OPTIONS = [{}, {"rank": 2, "leak": 0.25, "link": "relu"}, {"leak": 0.5, "units": 2}]


@pytest.mark.parametrize(("parents", "options"), [(0, {}), *((3, each) for each in OPTIONS)])
@pytest.mark.parametrize("name", CONTRACT)
def test_it_passes_the_contract(name, parents, options, key):
    made = create_layer("low_rank", key, contract.SIZE, parents, initialisation("default"), options)
    layer = sharpen(made, key, scale=1.0)
    known = {"kind": "low_rank", "layer": layer, "key": key, "bias": 100.0, "init": "paper"}
    test = getattr(contract, name)
    test(**{argument: known[argument] for argument in inspect.signature(test).parameters})


def test_the_contract_catches_a_kind_that_declares_itself_wrongly(key):
    class Wrong(LowRank):
        factorial: ClassVar[bool] = False

    layer = Wrong.create(key, contract.SIZE, 3, initialisation("default"))
    with pytest.raises(AssertionError):
        contract.test_factorial_as_declared_agrees_with_what_the_logits_show(layer)


@pytest.mark.parametrize(
    "text",
    [
        "low_rank/sbn 3-4",
        "low_rank(rank=2, leak=0.25, link=relu)|sbn/nade|low_rank(leak=0.5) 2-5",
        "low_rank(leak=1e-05, units=2, nonlinearity=relu)/low_rank(rank=1) 6",
    ],
)
def test_architecture_strings_and_files_know_it(text, key, tmp_path):
    machine = build(text, features=6, key=key)
    assert describe(machine) == text
    save_model(machine, tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    assert jax.tree.structure(again) == jax.tree.structure(machine)
    np.testing.assert_array_equal(flat(again), flat(machine))


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("rank=0", "option rank=0 of layer kind 'low_rank' must be 1 or more"),
        ("rank=1.5", "must be a whole number"),
        ("leak=1", "must be at least 0 and below 1"),
        ("leak=x", "must be a number"),
        ("link=cube", "must be one of identity, relu"),
        ("width=3", "no option 'width'; valid: rank, leak, link, units, nonlinearity"),
    ],
)
def test_its_options_are_checked_by_what_it_declares(option, says, key):
    with pytest.raises(UsageError) as caught:
        build(f"low_rank({option})/sbn 3", features=4, key=key)
    assert says in str(caught.value)
