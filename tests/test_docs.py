"""What the documentation names is there, and its skeletons pass the contract tests."""

import inspect
import re
import sys
import types
from pathlib import Path

import jax
import pytest

from tests.layers import test_contract as contract
from tests.oracle import sharpen
from wakesleep.architecture import build, describe
from wakesleep.data import DATASETS, load_dataset
from wakesleep.estimators import ESTIMATORS
from wakesleep.layers import LAYERS, Kind, create_layer, initialisation
from wakesleep.recipe import Recipe, load_recipe
from wakesleep.training import fit

ROOT = Path(__file__).parents[1]
EQUATIONS = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
EXTENDING = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
RUNNING = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")


def named_tests():
    file = ""
    for path, test in re.findall(r"`(tests/[\w/]+\.py)?(?:::(\w+))?`", EQUATIONS):
        file = path or file
        if file:
            yield file, test


@pytest.mark.parametrize(("file", "test"), sorted(set(named_tests())))
def test_every_test_the_equations_page_names_exists(file, test):
    assert f"def {test}" in (ROOT / file).read_text(encoding="utf-8")


def skeleton(name, monkeypatch):
    """Run a page's code block as a module of its own."""
    (code,) = re.findall(rf"```python\n# {name}\n(.*?)```", EXTENDING, re.DOTALL)
    module = types.ModuleType(f"skeleton_{Path(name).stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(code, name, "exec"), vars(module))
    return module


CONTRACT_TESTS = [name for name in dir(contract) if name.startswith("test_")]


@pytest.mark.parametrize("parents", [0, 3])
@pytest.mark.parametrize("name", CONTRACT_TESTS)
def test_the_skeleton_layer_passes_the_contract(name, parents, key, monkeypatch):
    monkeypatch.setitem(LAYERS, "chain", Kind(skeleton("layers/chain.py", monkeypatch).Chain))
    made = create_layer("chain", key, contract.SIZE, parents, initialisation("default"))
    layer = sharpen(made, key)
    known = {"kind": "chain", "layer": layer, "key": key, "bias": 100.0, "init": "paper"}
    test = getattr(contract, name)
    test(**{argument: known[argument] for argument in inspect.signature(test).parameters})


def test_the_skeleton_layer_has_an_architecture_string(key, monkeypatch):
    monkeypatch.setitem(LAYERS, "chain", Kind(skeleton("layers/chain.py", monkeypatch).Chain))
    assert describe(build("chain(units=4)/chain 2-3", features=5, key=key)) == (
        "chain(units=4)/chain 2-3"
    )


def test_the_skeleton_estimator_and_data_set_train_a_machine(key, monkeypatch):
    unweighted = skeleton("estimators/unweighted.py", monkeypatch).Unweighted
    monkeypatch.setitem(ESTIMATORS, "unweighted", unweighted)
    monkeypatch.setitem(DATASETS, "parity", skeleton("data/parity.py", monkeypatch).PARITY)
    data = load_dataset("parity")
    model = build("ar_sbn/sbn 8", features=data.features, key=key)
    recipe = Recipe(estimator="unweighted", epochs=15, learning_rate=0.03)
    history = fit(model, data, recipe).history
    assert history[-1].valid_ll > history[0].valid_ll + 0.02
    assert jax.tree.leaves(history[-1].kl)


def test_the_recipe_of_the_running_page_is_what_it_says(tmp_path):
    (text,) = re.findall(r"```toml\n(.*?)```", RUNNING, re.DOTALL)
    (tmp_path / "deep.toml").write_text(text)
    first, second = load_recipe(tmp_path / "deep.toml").expand()
    assert (first.epochs, first.estimator.samples, first.rate_divisor) == (1000, 5, 1.0)
    assert (second.epochs, second.estimator.samples, second.rate_divisor) == (500, 100, 1.005)
    assert first.optimiser == second.optimiser == "sgd"
