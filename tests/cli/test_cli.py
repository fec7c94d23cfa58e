"""The commands as a user gives them, in one process where that is enough."""

import json

import numpy as np
import pytest
from matplotlib import image

from wakesleep.cli import main
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
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads((trained / "evaluation.json").read_text())
    assert found["examples"] == 300
    assert found["samples"] == 20
    assert found["binarisation"]
    assert len(out.read_text().splitlines()) == 301


def test_bootstrap_writes_numbers_and_the_paper_s_figures(trained, capsys):
    words = ["bootstrap", str(trained), "--primary", "50", "--replicates", "5", "--points", "3"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counts"] == [1, 2, 5, 10, 20, 50]
    assert found["examples"] == 3
    assert found == json.loads((trained / "analysis" / "bias.json").read_text())
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


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["train", "nosuch"], 2, "nosuch"),
        (["train", "--model", "sbn/foo 3"], 2, "sbn, ar_sbn, nade, darn"),
        (["train", "--recipe", "nosuch"], 2, "default, paper"),
        (["train", "--epochs", "0"], 2, "epochs must be 1 or more"),
        (["train", "--extend", "3"], 2, "--resume"),
        (["train", "--resume", "nosuch"], 2, "not a run folder"),
        (["evaluate", "nosuch"], 2, "not a run folder"),
        (["report", "nosuch"], 2, "not a run folder"),
    ],
)
def test_errors_are_one_sentence_with_the_right_exit_code(words, code, said, capsys, tmp_path):
    out = ["--out", str(tmp_path / "run")] if words[0] == "train" else []
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
    found = json.loads(capsys.readouterr().out)
    assert found["kernels"].startswith(("native (", "reference ("))
    assert {"bars", "digits"} <= set(found["data"])
    assert main(["info"]) == 0
    assert found["kernels"] in capsys.readouterr().out
