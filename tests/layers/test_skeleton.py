"""The layer of docs/extending.md, run as it stands there and registered by one line."""

import inspect

import jax
import numpy as np
import pytest

from tests.layers import test_contract as contract
from tests.oracle import flat, sharpen
from tests.pages import python_blocks, run_block
from wakesleep.architecture import build, describe
from wakesleep.layers import LAYERS, Kind, create_layer, initialisation
from wakesleep.storage import load_model, save_model

CONTRACT = [name for name in dir(contract) if name.startswith("test_")]
CASES = [(0, {}), (3, {}), (3, {"lag": 2, "units": 2})]


@pytest.fixture(autouse=True)
def chain(monkeypatch):
    """The page's code block as a module of its own, its kind in the registry."""
    (block,) = [b for b in python_blocks("docs/extending.md") if b.name == "layers/chain.py"]
    module = run_block(block)
    monkeypatch.setitem(LAYERS, "chain", Kind(module.Chain))


@pytest.mark.parametrize(("parents", "options"), CASES)
@pytest.mark.parametrize("name", CONTRACT)
def test_it_passes_the_contract(name, parents, options, key):
    made = create_layer("chain", key, contract.SIZE, parents, initialisation("default"), options)
    layer = sharpen(made, key)
    known = {"kind": "chain", "layer": layer, "key": key, "bias": 100.0, "init": "paper"}
    test = getattr(contract, name)
    test(**{argument: known[argument] for argument in inspect.signature(test).parameters})


@pytest.mark.parametrize(
    "text", ["chain(units=4)/chain 2-3", "chain(lag=2)|sbn/sbn 10-50", "chain/sbn 10-50"]
)
def test_its_strings_and_files(text, key, tmp_path):
    machine = build(text, features=5, key=key)
    assert describe(machine) == text
    save_model(machine, tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    assert jax.tree.structure(again) == jax.tree.structure(machine)
    np.testing.assert_array_equal(flat(again), flat(machine))
