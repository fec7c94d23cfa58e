"""A run and its data: moved, gone, edited, sorted, cut and replaced."""

import json
import shutil

import numpy as np
import pytest

import wakesleep as ws
from tests.runs.runs import BARE, StopAfter, assert_same_run
from wakesleep.cli import main
from wakesleep.errors import DataError, UsageError
from wakesleep.recipe import Recipe
from wakesleep.runs.config import DataConfig, RunConfig
from wakesleep.runs.start import resume_run, start_run

RECIPE = Recipe(epochs=2, batch_size=20, validation_samples=2, average=0.0)
WAY_OUT = "--data FILE names the data it was trained on"


def rows():
    return np.random.default_rng(0).integers(0, 2, (60, 5))


def write(path, table):
    np.savetxt(path, table, fmt="%d", delimiter=",")
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run on a file, evaluated; every test takes a copy."""
    folder = tmp_path_factory.mktemp("made")
    config = RunConfig(DataConfig(str(write(folder / "own.csv", rows()))), "sbn/sbn 2", 0, RECIPE)
    start_run(folder / "run", config)
    assert main(["evaluate", str(folder / "run"), "--samples", "5", "--quiet"]) == 0
    return folder


@pytest.fixture
def place(made, tmp_path):
    """The run and its file, in a folder of its own."""
    shutil.copytree(made / "run", tmp_path / "run")
    write(tmp_path / "own.csv", rows())
    text = (tmp_path / "run" / "config.toml").read_text()
    (tmp_path / "run" / "config.toml").write_text(text.replace(str(made), str(tmp_path)))
    return tmp_path


def commands(place):
    run = str(place / "run")
    return {
        "resume": ["train", "--resume", run, "--extend", "1", "--no-diagnostics"],
        "evaluate": ["evaluate", run, "--samples", "5", "--quiet"],
        "report": ["report", run, "--quiet"],
        "compare": ["compare", run, run],
        "impute": ["impute", run, "--out", str(place / "x.npz")],
        "bootstrap": ["bootstrap", run, "--points", "2", "--primary", "5", "--replicates", "2"],
    }


def changed_bit(table):
    table = table.copy()
    table[3, 2] = 1 - table[3, 2]
    return table


CHANGES = {
    "edited": (changed_bit, "the contents of train are others"),
    "sorted": (lambda t: t[np.lexsort(t.T)], "the contents of train and valid and test are others"),
    "cut": (lambda t: t[:50], "train had 48 rows, and now has 40"),
    "replaced": (lambda t: t[:, :4], "it had 5 columns, and now has 4 columns"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_whose_data_changed_is_refused_with_what_differs(change, place, capsys):
    make, said = CHANGES[change]
    write(place / "own.csv", make(rows()))
    given = commands(place)
    # A page of what the run kept, for which no file is read that the run folder alone names.
    for name in ("report", "compare"):
        assert main(given[name]) == 0
        given[name] = [*given[name], "--data", str(place / "own.csv")]
    capsys.readouterr()
    for words in given.values():
        assert main(words) == 2
        error = capsys.readouterr().err
        assert said in error
        assert WAY_OUT in error
        assert error.count("\n") == 1


def test_data_that_are_gone_are_named_and_found_by_data(place, capsys):
    moved = (place / "own.csv").rename(place / "moved.csv")
    given = commands(place)
    for name in ("resume", "evaluate", "bootstrap", "impute"):
        assert main(given[name]) == 2
        error = capsys.readouterr().err
        assert "there is no file" in error
        assert WAY_OUT in error
    wrong = write(place / "wrong.csv", changed_bit(rows()))
    assert main([*given["evaluate"], "--data", str(wrong)]) == 2
    assert "the contents of train are others" in capsys.readouterr().err
    assert main([*given["evaluate"], "--data", str(moved)]) == 0
    assert "own, test set" in capsys.readouterr().out
    assert main([*given["resume"], "--data", str(moved)]) == 0
    # The run took note of the new place.
    assert main(given["evaluate"]) == 0


def test_a_whole_run_is_reported_compared_and_sampled_without_its_data(place, capsys):
    (place / "own.csv").unlink()
    run = str(place / "run")
    assert main(["report", run, "--quiet"]) == 0
    assert "own: 48 / 6 / 6 rows (train / valid / test) of 5 bits" in (
        place / "run" / "report.html"
    ).read_text(encoding="utf-8")
    assert main(["compare", run, run]) == 0
    assert main(["sample", run, "--out", str(place / "x.csv"), "--count", "3"]) == 0
    assert main(["show", run, "--out", str(place / "x.png")]) == 0
    (place / "partial.csv").write_text("0,?,1,1,0\n")
    words = ["impute", run, str(place / "partial.csv"), "--samples", "5", "--draws", "2"]
    assert main([*words, "--out", str(place / "x.npz")]) == 0


def test_a_folder_without_data_json_works_as_it_did(place, capsys):
    (place / "run" / "data.json").unlink()
    write(place / "own.csv", changed_bit(rows()))
    assert main(["evaluate", str(place / "run"), "--samples", "5", "--quiet"]) == 0
    assert not (place / "run" / "data.json").exists()
    assert resume_run(place / "run", BARE) is None
    assert json.loads((place / "run" / "data.json").read_text())["features"] == 5


def test_files_of_other_splits_are_found_beside_the_one_that_is_named(tmp_path):
    parts = np.split(rows(), [40, 50])
    paths = [
        str(write(tmp_path / f"{name}.csv", part))
        for name, part in zip(("a", "b", "c"), parts, strict=True)
    ]
    run = tmp_path / "run"
    start_run(run, RunConfig(DataConfig(*paths), "sbn/sbn 2", 0, RECIPE), BARE)
    (tmp_path / "new").mkdir()
    for path in paths:
        shutil.move(path, tmp_path / "new")
    with pytest.raises(DataError, match="no file"):
        _ = ws.load_run(run).data
    data = ws.load_run(run, tmp_path / "new" / "a.csv").data
    assert [len(split) for split in data.splits.values()] == [40, 10, 10]


def test_load_run_gives_model_config_history_and_data(place):
    run = ws.load_run(place / "run")
    assert run.config.model == "sbn/sbn 2"
    assert [record["epoch"] for record in run.history] == [1, 2]
    assert run.model.latent_sizes == (2,)
    assert run.data.train.shape == (48, 5)
    assert run.folder.path == place / "run"
    with pytest.raises(UsageError, match="not a run folder"):
        ws.load_run(place)


def test_the_seed_does_not_move_the_split(place):
    def digests(*words):
        out = place / "-".join(words)
        words = ["train", str(place / "own.csv"), "--model", "sbn/sbn 2", "--epochs", "1", *words]
        assert main([*words, "--out", str(out), "--quiet", "--no-diagnostics"]) == 0
        return json.loads((out / "data.json").read_text())["splits"]

    known = json.loads((place / "run" / "data.json").read_text())["splits"]
    assert digests("--seed", "5") == known
    moved = digests("--split-seed", "5")
    assert all(moved[name]["rows"] == known[name]["rows"] for name in known)
    assert all(moved[name]["sha256"] != known[name]["sha256"] for name in known)


def test_a_moved_run_in_the_middle_goes_on_to_the_same_bits(place):
    config = RunConfig(DataConfig(str(place / "own.csv")), "sbn/sbn 2", 0, RECIPE)
    start_run(place / "half", config, StopAfter(1).options)
    (place / "own.csv").rename(place / "elsewhere.csv")
    resume_run(place / "half", BARE, data=place / "elsewhere.csv")
    data = ws.load_dataset(place / "elsewhere.csv")
    assert_same_run(place / "run", place / "half", data)
