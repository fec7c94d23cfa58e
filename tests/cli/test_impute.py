"""`wakesleep impute` as a user gives it."""

import json

import numpy as np
import pytest
from matplotlib import image

from wakesleep.cli import main
from wakesleep.data import load_dataset
from wakesleep.data.hidden_halves import hidden_half

FEW = ["--samples", "40", "--draws", "6", "--moves", "2"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "digits"
    assert main(["train", "--epochs", "2", "--model", "sbn/sbn 8", "--out", str(run)]) == 0
    return run


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rows = load_dataset("digits").test[:3].astype(float)
    rows[:, 40:] = np.nan
    path = tmp_path_factory.mktemp("tables") / "partial.csv"
    np.savetxt(path, rows, fmt="%g", delimiter=",")
    return path


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".csv"])
def test_a_table_is_imputed_into_a_file(suffix, trained, table, tmp_path, capsys):
    out = tmp_path / f"imputed{suffix}"
    words = ["impute", str(trained), str(table), "--out", str(out), "--json", *FEW]
    assert main(words) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["rows"] == 3
    assert summary["missing_bits"] == 3 * 24
    assert summary["draws"] == 6
    assert summary["written"] == [str(out)]
    observed = load_dataset("digits").test[:3][:, :40]
    if suffix == ".csv":
        probabilities = np.loadtxt(out, delimiter=",")
        assert np.array_equal(probabilities[:, :40], observed)
        assert np.all((probabilities >= 0) & (probabilities <= 1))
    elif suffix == ".npy":
        assert np.array_equal(np.load(out)[:, 2, :40], observed)
    else:
        with np.load(out) as archive:
            assert archive["draws"].shape == (3, 6, 64)
            assert archive["missing"].sum() == 3 * 24
            assert archive["effective_samples"].shape == (3,)


def test_half_a_digit_and_its_imputations_are_a_picture(trained, tmp_path, capsys):
    path = tmp_path / "half.png"
    words = ["impute", str(trained), "--picture", str(path), "--rows", "4", *FEW]
    assert main(words) == 0
    assert f"imputed {4 * 32} missing bits in 4 rows" in capsys.readouterr().out
    picture = image.imread(path)
    assert picture.shape[:2] == (3 * (4 * 9 + 1), 3 * (7 * 9 + 1))
    first = picture[::3, ::3][1:9, 1:9, :3]
    blue = first[..., 2] - first[..., 0] > 0.3
    assert blue[4:].all()
    assert not blue[:4].any()


@pytest.mark.parametrize("hide", ["lower", "upper", "left", "right"])
def test_the_hidden_half_is_the_one_that_was_named(hide):
    data = load_dataset("digits")
    shown = data.images(hidden_half(data, 1, hide).missing)[0]
    parts = {"lower": shown[4:], "upper": shown[:4], "left": shown[:, :4], "right": shown[:, 4:]}
    assert parts[hide].all()
    assert shown.sum() == 32


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to write"),
        (["--out", "x.txt"], ".npz, .npy or .csv"),
        (["--picture", "x.jpg"], ".png"),
        (["--picture", "x.png", "--rows", "0"], "rows must be 1 or more"),
        (["nosuch.csv", "--out", "x.npz"], "no file nosuch.csv"),
        (["--out", "x.npz", "--draws", "0"], "draws"),
    ],
)
def test_errors_are_one_sentence(words, said, trained, capsys):
    assert main(["impute", str(trained), *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_table_of_another_width_is_refused(trained, tmp_path, capsys):
    (tmp_path / "narrow.csv").write_text("0,?,1\n")
    words = ["impute", str(trained), str(tmp_path / "narrow.csv"), "--out", "x.npz"]
    assert main(words) == 2
    assert "3 columns, but the model was made for 64" in capsys.readouterr().err


def test_the_command_s_old_name_still_works_and_says_what_it_is_now(
    trained, table, tmp_path, capsys
):
    outputs = {}
    for name in ("impute", "complete"):
        out = tmp_path / f"{name}.npy"
        assert main([name, str(trained), str(table), "--out", str(out), *FEW]) == 0
        outputs[name] = out.read_bytes()
        said = capsys.readouterr().err
        expected = "" if name == "impute" else "wakesleep: 'complete' is called 'impute' now"
        assert said.startswith(expected)
        assert said.count("\n") == bool(expected)
    assert outputs["impute"] == outputs["complete"]


def test_a_table_that_misses_nothing_is_written_as_it_is(trained, tmp_path, capsys):
    rows = load_dataset("digits").test[:2]
    np.savetxt(tmp_path / "whole.csv", rows, fmt="%g", delimiter=",")
    words = ["impute", str(trained), str(tmp_path / "whole.csv"), "--json", *FEW]
    assert main([*words, "--out", str(tmp_path / "out.csv")]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["missing_bits"] == 0
    assert summary["mean_log_likelihood_of_observed"] is None
    assert np.array_equal(np.loadtxt(tmp_path / "out.csv", delimiter=","), rows)
