"""The commands as a user gives them, in one process where that is enough."""

import json
import tomllib

import numpy as np
import pytest
from matplotlib import image

from wakesleep.cli import main
from wakesleep.data import load_dataset
from wakesleep.estimators import Reweighted
from wakesleep.runs.config import read_config
from wakesleep.storage import load_model


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "digits"
    assert main(["train", "--epochs", "2", "--model", "sbn/sbn 3-8", "--out", str(run)]) == 0
    return run


def test_a_run_folder_has_all_a_later_command_needs(trained):
    assert {path.name for path in trained.iterdir()} >= {
        "config.toml",
        "metrics.jsonl",
        "model.safetensors",
        "checkpoints",
        "data.json",
        "diagnostics.safetensors",
    }
    lines = (trained / "metrics.jsonl").read_text().splitlines()
    epochs = [json.loads(line)["epoch"] for line in lines]
    assert epochs == [1, 2]
    assert load_model(trained / "model.safetensors").latent_sizes == (8, 3)


def test_evaluate_prints_a_table_or_json_and_keeps_the_numbers(trained, capsys, tmp_path):
    assert main(["evaluate", str(trained), "--samples", "20", "--quiet"]) == 0
    table = capsys.readouterr().out
    assert "digits, test set, 300 examples" in table
    assert "log-likelihood" in table
    assert "threshold" in table
    out = tmp_path / "each.csv"
    words = ["evaluate", str(trained), "--samples", "20", "--json", "--out", str(out)]
    assert main(words) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((trained / "evaluation.json").read_text())
    assert printed["examples"] == 300
    assert printed["samples"] == 20
    assert printed["binarisation"]
    assert len(out.read_text().splitlines()) == 301


def test_evaluate_by_combinations_says_so(trained, capsys):
    words = ["evaluate", str(trained), "--samples", "40", "--method", "combined", "--json"]
    assert main(words) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["method"] == "combined"
    assert printed["samples_per_example"] == 40
    assert printed["defensive"] == 0
    assert main([*words, "--tolerance", "0.1"]) == 2
    assert "leave out the tolerance" in capsys.readouterr().err


def test_bootstrap_writes_numbers_and_the_paper_s_figures(trained, capsys):
    words = ["bootstrap", str(trained), "--primary", "50", "--replicates", "5", "--points", "3"]
    assert main([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["counts"] == [1, 2, 5, 10, 20, 50]
    assert printed["examples"] == 3
    assert printed == json.loads((trained / "analysis" / "bias.json").read_text())
    for name in ("gradient-bias", "log-likelihood-by-samples", "log-likelihood-bias"):
        assert image.imread(trained / "analysis" / f"{name}.png").shape[:2] == (440, 605)
    assert main(["analyse", str(trained), "--points", "301"]) == 2
    renamed, refused = capsys.readouterr().err.splitlines()
    assert "'analyse' is called 'bootstrap' now" in renamed
    assert "300 rows" in refused


def test_sample_writes_pictures_and_tables(trained, tmp_path):
    for name, options in (("a.png", []), ("b.png", ["--probabilities"])):
        assert main(["sample", str(trained), "--out", str(tmp_path / name), *options]) == 0
        picture = image.imread(tmp_path / name)[..., 0]
        assert picture.shape == (3 * 91, 3 * 91)
        assert 0 < picture.mean() < 1
    assert main(["sample", str(trained), "--out", str(tmp_path / "c.npy"), "--count", "7"]) == 0
    assert np.load(tmp_path / "c.npy").shape == (7, 64)
    assert main(["sample", str(trained), "--out", str(tmp_path / "d.csv"), "--count", "7"]) == 0
    assert np.loadtxt(tmp_path / "d.csv", delimiter=",").shape == (7, 64)


def test_data_lists_every_set(capsys):
    assert main(["data", "--json"]) == 0
    names = {row["name"] for row in json.loads(capsys.readouterr().out)}
    assert {"digits", "bars", "binarized_mnist", "rcv1"} <= names
    assert main(["data"]) == 0
    assert "caltech101" in capsys.readouterr().out


def test_own_files_can_be_trained_on(tmp_path, capsys):
    rows = np.random.default_rng(0).integers(0, 2, (60, 5))
    np.savetxt(tmp_path / "own.csv", rows, fmt="%d", delimiter=",")
    words = ["train", str(tmp_path / "own.csv"), "--model", "sbn/sbn 2", "--epochs", "1"]
    assert main([*words, "--out", str(tmp_path / "run"), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0]["epoch"] == 1
    assert lines[-1]["finished"]
    words = ["sample", str(tmp_path / "run"), "--out", str(tmp_path / "x.png")]
    assert main(words) == 2
    assert "image" in capsys.readouterr().err


OWN = ("--model", "sbn/sbn 2")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["train", "nosuch"], 2, "nosuch"),
        (["train", "--model", "sbn/foo 3"], 2, "sbn, ar_sbn, nade, darn"),
        (["train", *OWN, "--recipe", "nosuch"], 2, "default, paper"),
        (["train", *OWN, "--epochs", "0"], 2, "epochs must be 1 or more"),
        (["train", "--extend", "3"], 2, "--resume"),
        (["train", "--data", "x.csv"], 2, "--resume"),
        (["train", *OWN, "--estimator.sample", "3"], 2, "has no option 'sample'; valid: samples"),
        (
            ["train", *OWN, "--estimator", "samples"],
            2,
            "unknown estimator 'samples'",
        ),
        (["train", *OWN, "--estimator.samples", "0"], 2, "samples must be 1 or more"),
        (["train", *OWN, "--estimator.name", "nosuch"], 2, "unknown estimator 'nosuch'"),
        (["train", *OWN, "--estimator", "nosuch"], 2, "unknown estimator 'nosuch'"),
        (["train", "--resume", "nosuch"], 2, "not a run folder"),
        (["train", "bars", "--resume", "nosuch"], 2, "DATA cannot change with --resume"),
        (["train", "--resume", "nosuch", "--estimator.chains", "3"], 2, "--estimator cannot"),
        (["train", "--resume", "nosuch", "--bins", "9"], 2, "what columns are cannot"),
        (["evaluate", "nosuch"], 2, "not a run folder"),
        (["report", "nosuch"], 2, "not a run folder"),
    ],
)
def test_errors_are_one_sentence_with_the_right_exit_code(words, code, said, capsys, tmp_path):
    begins = words[0] == "train" and "--resume" not in words
    out = ["--out", str(tmp_path / "run")] if begins else []
    assert main([*words, *out]) == code
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("wakesleep: ")
    assert error.count("\n") == 1
    assert "Traceback" not in error


def test_unknown_options_are_usage_errors(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["train", "--epoch", "3"])
    assert caught.value.code == 2


def test_a_run_is_not_replaced_unless_asked(trained, capsys):
    before = (trained / "model.safetensors").read_bytes()
    words = ["train", "--epochs", "1", "--model", "sbn/sbn 2", "--out", str(trained)]
    assert main(words) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert (trained / "model.safetensors").read_bytes() == before


def test_info_says_which_kernels_are_in_use_and_why(capsys):
    assert main(["info", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["kernels"].startswith(("native (", "reference ("))
    assert {"bars", "digits"} <= set(printed["data"])
    assert main(["info"]) == 0
    assert printed["kernels"] in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["--estimator.samples", "7", "--estimator.wake_q", "0.0"],
        ["--estimator.samples=7", "--estimator.wake_q=0.0"],
        ["--estimator", "samples=7", "--estimator", "wake_q=0.0"],
        ["--estimator.name", "reweighted", "--samples", "7", "--wake-q", "False"],
        ["--estimator", "reweighted", "--samples", "7", "--wake-q", "False"],
    ],
)
def test_an_estimators_options_are_set_in_several_ways(words, tmp_path):
    given = ["bars", "--model", "sbn/sbn 2", "--epochs", "1", "--quiet", "--no-diagnostics"]
    assert main(["train", *given, *words, "--out", str(tmp_path / "run")]) == 0
    recipe = read_config(tmp_path / "run" / "config.toml").recipe
    assert recipe.estimator == Reweighted(samples=7, wake_q=0.0)


@pytest.mark.parametrize("word", ["True", "true"])
def test_a_switch_of_an_estimator_is_written_like_any_other(word, tmp_path):
    given = ["bars", "--model", "sbn/sbn 2-2", "--epochs", "1", "--quiet", "--no-diagnostics"]
    assert main(["train", *given, "--estimator.combine", word, "--out", str(tmp_path / "run")]) == 0
    assert read_config(tmp_path / "run" / "config.toml").recipe.estimator == Reweighted(
        combine=True
    )


def test_a_recipe_file_of_the_first_release_is_trained_by(tmp_path):
    (tmp_path / "old.toml").write_text("epochs = 1\nsamples = 7\nrate_wake_q = 0.0\n")
    words = ["train", "bars", "--model", "sbn/sbn 2", "--recipe", str(tmp_path / "old.toml")]
    out = tmp_path / "run"
    assert main([*words, "--out", str(out), "--quiet", "--no-diagnostics"]) == 0
    config = tomllib.loads((out / "config.toml").read_text())
    assert config["recipe"]["estimator"]["samples"] == 7
    assert config["recipe"]["estimator"]["wake_q"] == 0.0


def test_the_split_of_packed_data_has_a_seed_of_its_own(tmp_path):
    np.savetxt(tmp_path / "own.csv", np.eye(30), fmt="%d", delimiter=",")

    def packed(name, *words):
        out = tmp_path / f"{name}.safetensors"
        assert main(["data", "pack", str(tmp_path / "own.csv"), str(out), *words]) == 0
        return load_dataset(out).train[:]

    seeded = packed("a", "--split-seed", "3")
    assert np.array_equal(seeded, packed("b", "--seed", "3"))
    assert not np.array_equal(seeded, packed("c"))
