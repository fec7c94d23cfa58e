"""Choosing among candidates: the best on validation, those that diverge never."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.runs.runs import BARE, StopAfter, assert_same_run
from wakesleep.cli import main
from wakesleep.recipe import Recipe
from wakesleep.runs.config import DataConfig, RunConfig
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.loading import load_run
from wakesleep.runs.rate_choice import RateChoice
from wakesleep.runs.selection import CandidateRun, select
from wakesleep.training.divergence import DivergenceError

CONFIG = RunConfig(DataConfig("bars"), "sbn/sbn 3", 0, Recipe(epochs=2, average=0.0))


def test_choosing_a_learning_rate_keeps_the_best_and_goes_on_after_an_interruption(tmp_path):
    words = ["bars", "--model", "sbn/sbn 4", "--epochs", "2", "--learning-rate", "0.0001,0.03"]
    run = tmp_path / "choice"
    assert main(["train", *words, "--out", str(run), "--quiet", "--no-diagnostics"]) == 0
    scores = json.loads((run / "choice.json").read_text())
    assert scores["0.03"] > scores["0.0001"]
    assert RunFolder(run).config().recipe.learning_rate == 0.03
    # As if it had been stopped before the second candidate and the choice:
    shutil.copytree(run, tmp_path / "again")
    again = tmp_path / "again"
    for left in ("config.toml", "choice.json", "candidates/rate-0.03/checkpoints"):
        path = again / left
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert main(["train", "--resume", str(again), "--quiet", "--no-diagnostics"]) == 0
    assert_same_run(run, again)
    assert (
        main(["train", "--resume", str(again), "--extend", "1", "--quiet", "--no-diagnostics"]) == 0
    )
    assert RunFolder(again).records()[-1]["epoch"] == 3


@pytest.mark.parametrize("rates", ["0.1,0.1", "0.1,x"])
def test_wrong_learning_rates_are_usage_errors(tmp_path, rates, capsys):
    words = ["train", "--model", "sbn/sbn 3", "--learning-rate", rates]
    assert main([*words, "--out", str(tmp_path / "run")]) == 2
    assert "learning" in capsys.readouterr().err
    assert not Path(tmp_path / "run" / "config.toml").exists()


def test_a_candidate_that_diverges_loses_and_is_not_trained_again(tmp_path, capsys):
    run = tmp_path / "choice"
    words = ["bars", "--model", "sbn/sbn 3", "--epochs", "2", "--learning-rate", "1e30,0.03"]
    with np.errstate(all="ignore"):
        assert main(["train", *words, "--out", str(run), "--no-diagnostics"]) == 0
    assert "1e+30: diverged" in capsys.readouterr().err
    assert RunFolder(run).config().recipe.learning_rate == 0.03
    assert json.loads((run / "choice.json").read_text())["1e+30"] is None
    mark = run / "candidates" / "rate-1e+30" / "diverged.json"
    assert "diverged in epoch 1" in json.loads(mark.read_text())["error"]
    # As if it had been stopped before the choice: nothing is left to train.
    before = mark.stat().st_mtime_ns
    (run / "config.toml").unlink()
    assert main(["train", "--resume", str(run), "--quiet", "--no-diagnostics"]) == 0
    assert mark.stat().st_mtime_ns == before
    assert RunFolder(run).config().recipe.learning_rate == 0.03


def test_all_diverged_is_an_error(tmp_path):
    choice = RateChoice(tmp_path / "choice")
    choice.prepare(CONFIG, (1e30, 2e30))
    with np.errstate(all="ignore"), pytest.raises(DivergenceError, match="every candidate"):
        choice.run(BARE)
    with pytest.raises(DivergenceError, match="every candidate"):
        choice.run(BARE)
    assert choice.folder.unfinished()


def test_an_interrupted_choice_trains_no_further_candidate(tmp_path):
    candidates = {name: CandidateRun(RunFolder(tmp_path / name), CONFIG) for name in ("a", "b")}
    assert select(candidates, StopAfter(1).options) is None
    assert not (tmp_path / "b").exists()
    # Bars of one seed and one config: both candidates are the same, and the first is as good.
    selection = select(candidates, BARE)
    assert selection.valid_ll["a"] == selection.valid_ll["b"]
    assert selection.best == "a"


def test_the_chosen_run_is_whole(tmp_path):
    choice = RateChoice(tmp_path / "choice")
    choice.prepare(CONFIG, (0.01, 0.02))
    choice.run(BARE)
    run = load_run(choice.path)
    assert run.folder.data_path.exists()
    assert run.data.name == "bars"
    assert len(run.history) == 2
