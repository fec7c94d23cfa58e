"""The documentation's code runs, its skeletons keep their contracts, what it names is there."""

import ast
import importlib
import inspect
import re
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from tests.machines import FEATURES, small_machine
from tests.oracle import (
    all_bits,
    exact_bound,
    exact_log_joint,
    exact_log_q,
    flat,
    weighted_p_gradient,
    weighted_q_gradient,
)
from tests.pages import PAGES, ROOT, indented_blocks, page_name, python_blocks, run_block
from wakesleep.architecture import build
from wakesleep.cli import main
from wakesleep.data import DATASETS, array_dataset, load_dataset
from wakesleep.estimators import ESTIMATORS
from wakesleep.estimators.base import Batch
from wakesleep.evaluation import log_likelihood
from wakesleep.recipe import Recipe
from wakesleep.recipe_files import load_recipe
from wakesleep.training import fit

EQUATIONS = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
RUNNING = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")


def sklearn_names():
    X = load_digits().data[:200]
    # A threshold that makes a column constant warns, and warnings are errors here.
    X = X[:, (X > 7.5).any(axis=0) & (X <= 7.5).any(axis=0)]
    with_gaps = (X > 7.5).astype(float)
    with_gaps[:, 3] = np.nan
    return {"X": X, "X_with_nan": np.where(np.isnan(with_gaps), np.nan, X), **table_names()}


def missing_names():
    x = np.asarray(all_bits(FEATURES))
    return {"model": small_machine("sbn/sbn 2-3"), "x": x, "missing": x < 1}


def mixture_names():
    x = np.asarray(all_bits(FEATURES))
    one, two = small_machine("nade"), small_machine("nade(order=1)")
    return {"one": one, "two": two, "data": SimpleNamespace(valid=x, test=x)}


def table_names():
    rng = np.random.default_rng(0)
    ages = np.where(rng.random(50) < 0.1, np.nan, rng.integers(18, 80, 50))
    return {"frame": pd.DataFrame({"answer": rng.choice(["yes", "no"], 50), "age": ages})}


def run_folder():
    words = ["train", "digits", "--epochs", "1", "--model", "sbn/sbn 4", "--out", "runs/digits"]
    assert main([*words, "--no-diagnostics", "--quiet"]) == 0
    return {}


# What a page's reader has at hand where its code begins.
GIVEN = {
    "docs/running.md": run_folder,
    "docs/howto/sklearn.md": sklearn_names,
    "docs/howto/evaluate.md": dict,
    "docs/howto/missing.md": missing_names,
    "docs/howto/mixtures.md": mixture_names,
    "docs/tables.md": table_names,
    "docs/undirected.md": dict,
}
# Pages whose code trains or needs a run: run whole, and judged, by tests of their own.
RUN_BY = {
    "README.md": "tests.test_readme.test_the_quick_start_runs_as_it_stands",
    **{
        f"docs/tutorials/{name}.md": f"tests.test_pages_of_docs.test_the_tutorial_on_{test}_runs"
        for name, test in (("table", "a_table"), ("images", "images"), ("paper", "the_paper"))
    },
}
BLOCKS = [block for path in PAGES for block in python_blocks(page_name(path))]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page}:{block.name}")
def test_every_piece_of_python_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if block.page in RUN_BY:
        module, _, test = RUN_BY[block.page].rpartition(".")
        assert callable(getattr(importlib.import_module(module), test))
        return
    names = vars(run_block(block, GIVEN.get(block.page, dict)()))
    # A skeleton defines something; the rest has run on what its page's reader would have.
    assert block.page in GIVEN or any(
        inspect.isclass(thing) or inspect.isfunction(thing)
        for thing in names.values()
        if getattr(thing, "__module__", None) == names["__name__"]
    )


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.name], ids=lambda b: b.name)
def test_every_skeleton_is_used_by_a_test(block):
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    assert sum(f'"{block.name}"' in source for source in sources) == 1


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_python_is_fenced_so_that_it_is_run(path):
    for block in indented_blocks(page_name(path)):
        assert not re.search(r"(?m)^(from \w|import \w|.*\bws\.\w+\(|.*\bjax\.)", block), block


def named_tests():
    file = ""
    for path, test in re.findall(r"`(tests/[\w/]+\.py)?(?:::(\w+))?`", EQUATIONS):
        file = path or file
        if file and (path or test):
            yield file, test


def functions(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("file", "test"), sorted(set(named_tests())))
def test_every_test_the_equations_page_names_exists(file, test):
    tests = {name for name in functions(file) if name.startswith("test_")}
    assert tests
    assert not test or test in tests


def named_code():
    """What stands in the second column, as `importance.log_weights`."""
    rows = re.findall(r"(?m)^\| [^|]+ \| ([^|]+) \| [^|]+ \|$", EQUATIONS)
    return sorted({name for row in rows for name in re.findall(r"`([a-z_]+\.[\w.]+)`", row)})


@pytest.mark.parametrize("name", named_code())
def test_everything_the_equations_page_names_exists(name):
    thing = importlib.import_module(f"wakesleep.{name.split('.')[0]}")
    for place, part in enumerate(name.split(".")[1:], start=2):
        if not hasattr(thing, part):
            importlib.import_module(f"wakesleep.{'.'.join(name.split('.')[:place])}")
        thing = getattr(thing, part)


def test_the_equations_page_names_code_and_tests_at_all():
    assert len(named_code()) >= 10
    assert len(set(named_tests())) >= 15


def skeleton(name):
    """A code block of the page on extending, as a module."""
    (block,) = [each for each in python_blocks("docs/extending.md") if each.name == name]
    return run_block(block)


def test_the_skeleton_estimator_climbs_the_bound(key):
    """Its mean gradient is the bound's, by listing, and its memory every row's bound."""
    estimator = skeleton("estimators/centred.py").Centred(samples=2000)
    machine, x = small_machine("sbn/sbn 2-2", scale=0.5), all_bits(FEATURES)[1::5]
    q = np.exp(exact_log_q(machine, x))
    signal = exact_log_joint(machine, x) - exact_log_q(machine, x)
    exact = np.concatenate(
        [
            flat(weighted_p_gradient(machine, x, q / len(x))),
            flat(weighted_q_gradient(machine, x, q * signal / len(x))),
        ]
    )
    step = eqx.filter_jit(estimator.step)
    batch, state, gradients = Batch(x, jnp.arange(len(x))), estimator.init(machine, len(x), key), []
    for step_key in jax.random.split(key, 40):
        made = step(machine, state, batch, step_key)
        gradients.append(-flat(made.gradients))
        state = made.state
    error = np.std(gradients, axis=0, ddof=1) / np.sqrt(len(gradients))
    assert np.all(np.abs(np.mean(gradients, axis=0) - exact) < 4.5 * error + 1e-5)
    np.testing.assert_allclose(state, exact_bound(machine, x), atol=0.1)


def test_the_skeleton_estimator_and_data_set_train_a_machine(key, monkeypatch):
    monkeypatch.setitem(ESTIMATORS, "centred", skeleton("estimators/centred.py").Centred)
    monkeypatch.setitem(DATASETS, "parity", skeleton("data/parity.py").PARITY)
    data = load_dataset("parity")
    model = build("ar_sbn/sbn 8", features=data.features, key=key)
    estimator = {"name": "centred", "forget": 0.9}
    result = fit(model, data, Recipe(estimator=estimator, epochs=15, learning_rate=0.03))
    assert result.history[-1].valid_ll > result.history[0].valid_ll + 0.02
    usual = np.asarray(result.snapshot.arrays.state.estimator)
    # Seven free bits: the bound of a row is about -7 log 2, the memory on its way there.
    assert usual.shape == (len(data.train),)
    assert -7 < usual.mean() < -3


def test_the_skeleton_model_is_trained_and_judged_like_any_other(key):
    coins = skeleton("models/coins.py").Coins
    keys = jax.random.split(key, 3)
    truth = coins(jnp.zeros(2), 3 * jax.random.normal(keys[0], (2, 6)), jnp.zeros((2, 6)))
    rows = [np.asarray(truth.dream(k, 600)[0]) for k in jax.random.split(keys[1], 2)]
    start = coins(jnp.zeros(2), jax.random.normal(keys[2], (2, 6)), jnp.zeros((2, 6)))
    recipe = Recipe(epochs=150, batch_size=20, estimator={"samples": 20}, weight_decay=0.0)
    model = fit(start, array_dataset(*rows), recipe).model

    def exact(model):
        both = [jax.nn.log_sigmoid(jnp.where(rows[1] > 0, c, -c)).sum(-1) for c in model.coins]
        return jax.nn.logsumexp(jax.nn.log_softmax(model.bags)[:, None] + jnp.stack(both), axis=0)

    assert float((exact(truth) - exact(model)).mean()) < 0.05
    score = log_likelihood(model, rows[1], samples=500, key=key)
    np.testing.assert_allclose(score.values, exact(model), atol=0.3)


def test_the_recipes_of_the_running_page_are_what_they_say(tmp_path):
    deep, images = re.findall(r"```toml\n(.*?)```", RUNNING, re.DOTALL)
    (tmp_path / "images.toml").write_text(images)
    shifts = [phase.shifts for phase in load_recipe(tmp_path / "images.toml").expand()]
    assert shifts == [1, 0]
    (tmp_path / "deep.toml").write_text(deep)
    first, second = load_recipe(tmp_path / "deep.toml").expand()
    assert (first.epochs, first.estimator.samples, first.rate_divisor) == (1000, 5, 1.0)
    assert (second.epochs, second.estimator.samples, second.rate_divisor) == (500, 100, 1.005)
    assert first.optimiser == second.optimiser == "sgd"
