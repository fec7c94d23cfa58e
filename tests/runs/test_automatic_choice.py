"""The automatic default in a run folder: resumed to the same bits, and what is refused."""

import json

import jax
import numpy as np
import pytest

import wakesleep as ws
from tests.cli.surveys import survey
from tests.runs.runs import BARE, StopAfter, assert_same_arrays, assert_same_run
from wakesleep.cli import main
from wakesleep.errors import UsageError
from wakesleep.recipe import Recipe
from wakesleep.runs.automatic_choice import AutomaticChoice
from wakesleep.runs.config import DataConfig, RunConfig
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.start import fit_run
from wakesleep.training.candidate import Candidate
from wakesleep.training.divergence import DivergenceError
from wakesleep.training.events import Tried
from wakesleep.training.progress_bar import choice_line

CONFIG = RunConfig(DataConfig("digits"), "auto", 2)
MINUTES = 0.05


@pytest.fixture
def short(monkeypatch):
    """One candidate and one further order of its columns, each trained for two epochs."""
    monkeypatch.setattr("wakesleep.training.automatic.COMPANIONS", 1)
    monkeypatch.setattr("wakesleep.training.automatic.MOST_UPDATES", 60)
    monkeypatch.setattr("wakesleep.training.automatic.COMPILATION", 1.0)


def test_an_interrupted_choice_ends_with_the_same_bits(short, tmp_path):
    whole, parts = (AutomaticChoice(tmp_path / name) for name in ("whole", "parts"))
    data = whole.prepare(CONFIG, MINUTES)
    choice = whole.run(BARE)
    assert [one.candidate.name for one in choice.tried] == ["nade", "backwards-1"]
    parts.prepare(CONFIG, MINUTES)
    assert parts.run(StopAfter(1).options) is None
    assert parts.unfinished()
    assert parts.run(StopAfter(2).options) is None
    again = parts.run(BARE)
    assert not parts.unfinished()
    assert [one.valid_ll for one in again.tried] == [one.valid_ll for one in choice.tried]
    assert_same_run(whole.path, parts.path)
    # And they are those of the door without a folder.
    in_memory = ws.fit(data, minutes=MINUTES, seed=2)
    assert_same_arrays(in_memory.model, ws.load_run(whole.path).model)
    kept = json.loads((whole.path / "choice.json").read_text())
    assert kept["chosen"] == choice.best.name
    assert kept["minutes"] == MINUTES
    scores = [one["valid_ll"] for one in kept["candidates"].values()]
    assert kept["valid_ll"] >= max(scores) > kept["independent_columns"]
    assert kept["components"] == (1 if kept["valid_ll"] == max(scores) else 2)
    # A mixture takes the place of the best model in the same file; it is not trained further.
    models = [ws.load_run(run.path).machine for run in whole.folder.runs().values()]
    whole.folder.keep("nade", ws.mix(models, data.valid[:20], key=jax.random.key(0)))
    run = ws.load_run(whole.path)
    assert isinstance(run.model, ws.Mixture)
    assert run.config.model.startswith("mixture of 2")
    assert main(["train", "--resume", str(whole.path), "--quiet"]) == 0
    assert main(["train", "--resume", str(whole.path), "--extend", "1", "--quiet"]) == 2
    with pytest.raises(UsageError, match="holds a run already"):
        whole.prepare(CONFIG, MINUTES)
    with pytest.raises(UsageError, match="one model"):
        fit_run(tmp_path / "other", "auto", data)


def test_a_candidate_that_diverges_loses(short, tmp_path):
    choice = AutomaticChoice(tmp_path / "choice")
    choice.prepare(CONFIG, MINUTES)
    assert list(choice.folder.runs()) == ["nade"]
    mark = RunFolder(choice.folder.candidates / "nade").diverged_path
    mark.write_text(json.dumps({"error": "training diverged"}))
    with pytest.raises(DivergenceError, match="every candidate diverged"):
        choice.run(BARE)
    assert choice.unfinished()


def test_the_command_holds_rows_out_and_says_what_it_tried(tmp_path, capsys):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).integers(0, 2, (60, 5), np.uint8))
    words = ["train", str(tmp_path / "rows.npy"), "--split", "1", "0", "0", "--minutes", "0.02"]
    words += ["--out", str(tmp_path / "run"), "--no-diagnostics"]
    assert main(words) == 0
    said = capsys.readouterr().err
    assert "15 of the training rows are held out" in said
    assert "tried nade(hidden=" in said
    assert "independent columns" in said
    run = ws.load_run(tmp_path / "run")
    assert (len(run.data.train), len(run.data.valid)) == (45, 15)
    assert run.config.model == ws.describe(run.model)
    assert main(["train", "--resume", str(tmp_path / "run")]) == 0
    assert "finished" in capsys.readouterr().err
    assert main([*words, "--quiet"]) == 2
    assert main([*words, "--quiet", "--overwrite"]) == 0


def test_a_table_s_choice_ends_with_yardsticks(tmp_path, capsys):
    survey(60).to_csv(tmp_path / "survey.csv", index=False)
    run = str(tmp_path / "run")
    assert main(["train", str(tmp_path / "survey.csv"), "--minutes", "0.02", "--out", run]) == 0
    said = capsys.readouterr().err
    chosen = json.loads((tmp_path / "run" / "choice.json").read_text())["valid_ll"]
    assert f"trained {run}, validation LL {chosen:.3f} nats" in said
    assert "in the table's units" in said
    assert "a mixture of independent columns gives" in said
    assert said.count("bits per column") == 2
    # Another run beside it shows the choice's own score, and says what is not known yet.
    assert main(["compare", run, run, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["valid_ll"] for row in found["runs"]] == [chosen] * 2
    assert found["beside"] == [f"run has no NLL yet: wakesleep evaluate {run}"] * 2


def test_candidates_that_differ_in_their_rows_are_told_apart():
    lines = [
        choice_line(
            Tried(Candidate(name, "nade", Recipe(weight_decay=0.05, smoothing=times)), -1.0)
        )
        for name, times in (("nade", 0.0), ("smoothed", 1.0))
    ]
    assert lines[0] == "tried nade, weight decay 0.05: validation LL -1.000"
    assert lines[1] == "tried nade, weight decay 0.05, smoothed rows: validation LL -1.000"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--epochs", "3"], "--epochs goes with a --model of your own"),
        (["--recipe", "paper"], "--recipe goes with"),
        (["--learning-rate", "0.1,0.2"], "--learning-rate goes with"),
        (["--wake-q", "False"], "--wake-q goes with"),
        (["--minutes", "0"], "minutes must be more than 0"),
        (["--model", "sbn/sbn 2", "--minutes", "3"], "--minutes goes with --model auto"),
    ],
)
def test_what_the_automatic_model_refuses(words, said, tmp_path, capsys):
    assert main(["train", "bars", *words, "--out", str(tmp_path / "run")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
