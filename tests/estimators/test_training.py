"""Every estimator through every door: digits, recipes, the command line, checkpoints, resume."""

import json
import tomllib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep as ws
from tests.oracle import flat
from tests.training.test_fit import same_bits
from wakesleep.cli import main
from wakesleep.errors import UsageError
from wakesleep.estimators import ESTIMATORS, Batch, create_estimator, estimator_table
from wakesleep.models.base import LatentModel
from wakesleep.recipe_files import recipe_from_dict
from wakesleep.runs.checkpoints import latest_checkpoint, load_checkpoint
from wakesleep.runs.folder import RunFolder
from wakesleep.training.events import EpochDone

NAMES = (
    "refined",
    "wake_sleep",
    "nvil",
    "rloo",
    "disarm",
    "vimco",
    "ovis",
    "tvo",
    "jsa",
    "order_agnostic",
)
OF_ONE_KIND = ("refined", "disarm", "order_agnostic")
MODEL = "sbn/sbn 10-20"
MODELS = {"order_agnostic": "eonade(hidden=100, orderings=2)"}


@pytest.fixture(scope="module")
def digits():
    return ws.load_dataset("digits")


def recipe(name, epochs=8):
    values = {"epochs": epochs, "batch_size": 50, "estimator": {"name": name}}
    values["learning_rate"] = 0.03
    return recipe_from_dict(values, "a table")


def test_every_estimator_is_tested_here():
    assert {"reweighted", *NAMES} <= set(ESTIMATORS)
    builtin = {n for n, kind in ESTIMATORS.items() if kind.__module__.startswith("wakesleep.")}
    assert builtin == {"reweighted", *NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_digits_are_learnt_and_a_resumed_run_repeats_the_whole_one(name, digits):
    seen, model = [], MODELS.get(name, MODEL)
    whole = ws.fit(model, digits, recipe(name), seed=1, observers=[seen.append])
    scores = [record.valid_ll for record in whole.history]
    assert scores[-1] > scores[0] + 1
    middle = [event for event in seen if isinstance(event, EpochDone)][3]
    again = ws.fit(model, digits, recipe(name), seed=1, resume=middle.snapshot)
    assert same_bits(again.snapshot.arrays, whole.snapshot.arrays)


@pytest.mark.parametrize("name", NAMES)
def test_the_command_line_trains_the_same_and_its_checkpoint_keeps_the_state(
    name, digits, tmp_path, capsys
):
    model = MODELS.get(name, MODEL)
    words = ["train", "digits", "--model", model, "--epochs", "1", "--batch-size", "50"]
    words += ["--learning-rate", "0.03", "--estimator.name", name, "--seed", "3", "--json"]
    words += ["--out", str(tmp_path / "run")]
    assert main(words) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    fitted = ws.fit(model, digits, recipe(name, epochs=1), seed=3)
    assert record["valid_ll"] == fitted.snapshot.best.valid_ll
    folder = RunFolder(tmp_path / "run")
    config = tomllib.loads((tmp_path / "run" / "config.toml").read_text(encoding="utf-8"))
    assert config["recipe"]["estimator"] == estimator_table(create_estimator(name))
    stored = load_checkpoint(latest_checkpoint(folder), recipe(name, epochs=1), digits.train)
    assert same_bits(stored.arrays.state.estimator, fitted.snapshot.arrays.state.estimator)


@pytest.mark.parametrize("name", ["rloo", "vimco", "ovis", "tvo", "disarm"])
def test_one_sample_is_refused_where_samples_are_compared(name):
    with pytest.raises(UsageError, match=r"^samples must be 2 or more, not 1$"):
        create_estimator({"name": name, "samples": 1})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"name": "ovis", "gamma": 1.5}, "gamma must be from 0 to 1, not 1.5"),
        ({"name": "ovis", "gamma": -1}, "gamma must be from 0 to 1, not -1"),
        ({"name": "tvo", "beta_min": 1.0}, "beta_min must be more than 0 and below 1, not 1.0"),
        ({"name": "tvo", "partitions": 0}, "partitions must be 1 or more, not 0"),
        ({"name": "vimco", "baseline": "none"}, "baseline must be one of geometric, arithmetic"),
        ({"name": "nvil", "forget": 1.0}, "forget must be at least 0 and below 1, not 1.0"),
        ({"name": "jsa", "samples": 0}, "samples must be 1 or more, not 0"),
        ({"name": "disarm", "samples": 3}, "samples must be an even number, not 3"),
        ({"name": "wake_sleep", "wake_q": 1}, "'wake_sleep' has no option 'wake_q'"),
    ],
)
def test_a_bad_option_gets_one_sentence(table, message):
    with pytest.raises(UsageError) as caught:
        create_estimator(table)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["sbn/nade 3", "sbn/ar_sbn 2-3"])
def test_disarm_refuses_a_q_whose_units_depend_on_each_other(text, digits):
    with pytest.raises(UsageError, match="'disarm' needs a Helmholtz machine whose q has SBN"):
        ws.fit(text, digits, recipe("disarm"))


# ---- models of one's own


def mixture(dreams=True):
    """x is a dictionary of two arrays, h one number of three."""

    def log_p(theta, x, h):
        near = -0.5 * jnp.square(x["where"] - theta["centres"][h]).sum()
        return near - 0.5 * jnp.square(x["size"] - theta["sizes"][h]) - jnp.log(3.0)

    def logits(phi, x):
        return phi["W"] @ jnp.append(x["where"], x["size"]) + phi["c"]

    def sample_p(theta, key):
        kind, where, size = jax.random.split(key, 3)
        h = jax.random.randint(kind, (), 0, 3)
        x = {
            "where": theta["centres"][h] + jax.random.normal(where, (2,)),
            "size": theta["sizes"][h] + jax.random.normal(size, ()),
        }
        return x, h

    return ws.FunctionModel(
        {"centres": jnp.arange(6.0).reshape(3, 2) / 3, "sizes": jnp.arange(3.0)},
        {"W": jnp.zeros((3, 3)), "c": jnp.zeros(3)},
        log_p,
        lambda phi, h, x: jax.nn.log_softmax(logits(phi, x))[h],
        lambda phi, x, key: jax.random.categorical(key, logits(phi, x)),
        sample_p if dreams else None,
    )


def some_rows(key, count=20):
    return mixture().dream(key, count)[0]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OF_ONE_KIND])
def test_models_given_as_functions_are_served_too(name, key):
    estimator = create_estimator(name)
    model, x = mixture(), some_rows(key)
    state = estimator.init(model, 20, key)
    step = eqx.filter_jit(estimator.step)
    _, after, _ = step(model, state, Batch(x, jnp.arange(20)), key)
    # nvil's first step leaves q as it is.
    gradients, after, info = step(model, after, Batch(x, jnp.arange(20)), key)
    assert np.isfinite(flat(gradients)).all()
    assert np.any(flat(gradients.theta) != 0)
    assert np.any(flat(gradients.phi) != 0)
    assert jax.tree.structure(after) == jax.tree.structure(state)
    assert [leaf.dtype for leaf in jax.tree.leaves(after)] == [
        leaf.dtype for leaf in jax.tree.leaves(state)
    ]
    assert np.isfinite(float(info.log_likelihood))


@pytest.mark.parametrize("name", ["wake_sleep", "nvil", "jsa"])
def test_a_model_without_dreams_is_refused_in_one_sentence(name, key):
    with pytest.raises(UsageError, match=f"'{name}' needs a model that can dream"):
        create_estimator(name).init(mixture(dreams=False), 20, key)


class Unscored(LatentModel):
    """A model that scores nothing but its own samples."""

    inner: ws.FunctionModel

    def draw(self, key, x, samples):
        return self.inner.draw(key, x, samples)

    def dream(self, key, count):
        return self.inner.dream(key, count)

    def log_q(self, h, x):
        return self.inner.log_q(h, x)

    def p_leaves(self):
        return eqx.tree_at(lambda m: m.inner, self, self.inner.p_leaves())


def test_jsa_needs_a_model_that_scores_what_it_remembers(key):
    with pytest.raises(UsageError, match=r"give the model a log_joint\(x, h\)$"):
        create_estimator("jsa").init(Unscored(mixture()), 20, key)


@pytest.mark.parametrize("name", OF_ONE_KIND)
def test_a_model_given_as_functions_is_refused_where_units_are_asked_for(name, key):
    with pytest.raises(UsageError, match=f"'{name}' .* (Helmholtz machine|an eonade)"):
        create_estimator(name).init(mixture(), 20, key)
