"""A run folder of the first release: read, resumed to the same bits, evaluated, reported."""

import shutil
from pathlib import Path

import jax
import numpy as np
import pytest

import wakesleep as ws
from wakesleep.cli import main
from wakesleep.recipe_files import load_recipe
from wakesleep.runs.checkpoints import latest_checkpoint, load_checkpoint
from wakesleep.runs.folder import RunFolder

MADE = Path(__file__).parent / "first_release"
DATA = str(MADE / "answers.csv")


@pytest.fixture
def run(tmp_path):
    return Path(shutil.copytree(MADE / "run", tmp_path / "run"))


def test_it_is_resumed_to_what_the_first_release_made_of_it(run):
    assert main(["train", "--resume", str(run), "--data", DATA, "--quiet"]) == 0
    resumed = ws.load_run(run)
    recipe, rows = resumed.config.recipe, resumed.data.train
    ends = [
        load_checkpoint(path, recipe, rows)
        for path in (latest_checkpoint(RunFolder(run)), *(MADE / "whole").iterdir())
    ]
    assert ends[0].position == ends[1].position
    assert ends[0].best.epoch == ends[1].best.epoch
    for ours, theirs in zip(*(jax.tree.leaves(end.arrays) for end in ends), strict=True):
        # The bits are those of the processor they were made on; another may round differently.
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert resumed.folder.data_path.exists()
    assert [record["epoch"] for record in resumed.history] == [1, 2, 3, 4, 5, 6]


def test_it_is_evaluated_and_reported_with_its_data_alone(run, capsys):
    assert main(["evaluate", str(run), "--samples", "5", "--quiet"]) == 2
    assert "--data FILE" in capsys.readouterr().err
    assert main(["evaluate", str(run), "--samples", "5", "--quiet", "--data", DATA]) == 0
    assert main(["report", str(run), "--quiet", "--data", DATA]) == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "answers: 48 / 6 / 6 rows" in page
    assert (run / "diagnostics.safetensors").exists()


def test_its_config_is_a_recipe_of_today(run):
    first, second = ws.load_run(run).config.recipe.expand()
    assert (first.rate_q, first.estimator.wake_q, first.estimator.sleep_q) == (1.0, 1.0, 0.5)
    assert (second.rate_q, second.estimator.wake_q, second.estimator.sleep_q) == (0.5, 0.0, 1.0)
    assert (first.estimator.samples, second.estimator.samples) == (3, 2)


def test_its_recipe_files_are_read(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text(
        'base = "paper"\nsamples = 10\nrate_wake_q = 0.0\n'
        "[[phases]]\nepochs = 2\n[[phases]]\nepochs = 1\nsamples = 100\n"
    )
    first, second = load_recipe(path).expand()
    assert first.optimiser == "sgd"
    assert (first.estimator.samples, second.estimator.samples) == (10, 100)
    assert first.estimator.wake_q == second.estimator.wake_q == 0.0
