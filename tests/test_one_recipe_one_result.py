"""The same recipe, data and seed give the same model from all three doors, bit for bit."""

import jax
import numpy as np
import pytest

import wakesleep as ws
from wakesleep.cli import main
from wakesleep.data import Dataset, PackedBits
from wakesleep.sklearn import HelmholtzMachineDensity

ARCHITECTURE, SEED = "sbn/nade 3-5", 11
SETTINGS = {"epochs": 3, "batch_size": 16, "learning_rate": 0.02, "weight_decay": 0.05}


ESTIMATOR = {"name": "vimco", "samples": 4}


@pytest.fixture
def rows():
    return np.random.default_rng(0).integers(0, 2, (70, 9), np.uint8)


def by_fit(rows):
    bits = PackedBits.pack(rows)
    nothing = bits.take([])
    data = Dataset("rows", bits, nothing, nothing, "already binary")
    recipe = ws.Recipe(estimator=ESTIMATOR, **SETTINGS)
    return ws.fit(ARCHITECTURE, data, recipe, seed=SEED).model


def by_command(rows, folder):
    np.save(folder / "rows.npy", rows)
    words = ["train", str(folder / "rows.npy"), "--split", "1", "0", "0", "--model", ARCHITECTURE]
    recipe = folder / "recipe.toml"
    lines = [f"{name} = {value}" for name, value in SETTINGS.items()]
    recipe.write_text("\n".join([*lines, "[estimator]", 'name = "vimco"', "samples = 4"]))
    words += ["--recipe", str(recipe), "--seed", str(SEED), "--out", str(folder / "run"), "--quiet"]
    assert main(words) == 0
    return ws.load_model(folder / "run" / "model.safetensors")


def by_scikit_learn(rows):
    settings = {name: value for name, value in SETTINGS.items() if name != "epochs"}
    density = HelmholtzMachineDensity(
        ARCHITECTURE, max_iter=3, estimator="vimco", samples=4, random_state=SEED, **settings
    )
    # Not in order: which rows share a minibatch depends on the seed and the rows' places alone.
    return density.fit(rows).model_


def test_three_doors_one_model(rows, tmp_path):
    models = by_fit(rows), by_command(rows, tmp_path), by_scikit_learn(rows)
    for model in models[1:]:
        pairs = zip(jax.tree.leaves(models[0]), jax.tree.leaves(model), strict=True)
        assert all(np.array_equal(a, b) for a, b in pairs)


def test_the_automatic_model_is_the_same_behind_every_door(rows, tmp_path):
    bits = PackedBits.pack(rows)
    data = Dataset("rows", bits, bits.take([]), bits.take([]), "already binary")
    by_call = ws.fit(data, minutes=0.02, seed=SEED).model
    np.save(tmp_path / "rows.npy", rows)
    words = ["train", str(tmp_path / "rows.npy"), "--split", "1", "0", "0", "--minutes", "0.02"]
    out = ["--seed", str(SEED), "--out", str(tmp_path / "run"), "--quiet", "--no-diagnostics"]
    assert main([*words, *out]) == 0
    by_words = ws.load_model(tmp_path / "run" / "model.safetensors")
    estimator = HelmholtzMachineDensity("auto", minutes=0.02, random_state=SEED).fit(rows)
    for model in (by_words, estimator.model_):
        pairs = zip(jax.tree.leaves(by_call), jax.tree.leaves(model), strict=True)
        assert all(np.array_equal(a, b) for a, b in pairs)


def test_the_visible_bias_starts_at_the_data_s_log_odds_behind_every_door(rows):
    rows[:, 0], rows[:, 1] = 0, 1
    bits = PackedBits.pack(rows)
    data = Dataset("rows", bits, bits.take([]), bits.take([]), "already binary")
    started = ws.initial_model(ARCHITECTURE, data, seed=SEED)
    expected = np.log(bits.smoothed_mean()) - np.log1p(-bits.smoothed_mean())
    np.testing.assert_allclose(started.p[0].b, expected, rtol=1e-5)
    as_in_the_paper = ws.initial_model(ARCHITECTURE, data, ws.Recipe(init="paper"), seed=SEED)
    np.testing.assert_array_equal(as_in_the_paper.p[0].b, np.full(9, -1.0))
