"""A model without latents in every command on a table with gaps; and runs compared."""

import json

import numpy as np
import pandas as pd
import pytest

import wakesleep as ws
from tests.cli.surveys import COLOURS, survey
from wakesleep.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run without latents, and others on the same and on other rows."""
    folder = tmp_path_factory.mktemp("visible")
    survey(100).to_csv(folder / "survey.csv", index=False)
    survey(100, seed=7).to_csv(folder / "others.csv", index=False)
    survey(12, seed=1).to_csv(folder / "new.csv", index=False)
    quick = ["--epochs", "30", "--batch-size", "20", "--quiet", "--no-diagnostics"]
    visible = ["--model", "nade(hidden=4)"]
    runs = {
        "run": ["survey.csv", *visible],
        "coarse": ["survey.csv", *visible, "--bins", "3"],
        "level": ["survey.csv", *visible, "--missing", "level"],
        "elsewhere": ["others.csv", *visible],
    }
    for name, (file, *words) in runs.items():
        out = ["--out", str(folder / name)]
        assert main(["train", str(folder / file), *out, *words, *quick]) == 0
        assert main(["evaluate", str(folder / name), "--samples", "50", "--quiet"]) == 0
    return folder


def test_scores_samples_and_imputations(folder, tmp_path, capsys):
    run, new = str(folder / "run"), str(folder / "new.csv")
    assert main(["score", run, new, "--out", str(tmp_path / "s.csv")]) == 0
    scores = pd.read_csv(tmp_path / "s.csv")
    assert np.isfinite(scores["log_likelihood"]).all()
    assert set(scores["odd_1"]) <= set(ws.load_run(run).schema.names)
    assert "bits per column" in capsys.readouterr().out
    words = ["sample", run, "--given", "colour=red", "--count", "40"]
    assert main([*words, "--out", str(tmp_path / "d.csv")]) == 0
    assert set(pd.read_csv(tmp_path / "d.csv")["colour"]) == {"red"}
    words = ["impute", run, new, "--out", str(tmp_path / "i.csv"), "--beside", "--json"]
    assert main(words) == 0
    table, imputed = pd.read_csv(new), pd.read_csv(tmp_path / "i.csv")
    assert imputed[table.columns].where(table.notna()).equals(table)
    assert not imputed[table.columns].isna().any().any()
    assert set(imputed["colour"]) <= COLOURS
    capsys.readouterr()
    words = ["embed", run, new, "--out", str(tmp_path / "e.csv")]
    assert main([*words, "--features", "latents"]) == 2
    assert "a model without latents" in capsys.readouterr().err
    assert main(words) == 0
    assert pd.read_csv(tmp_path / "e.csv").notna().all(axis=None)
    # A run that kept no diagnostics needs its data, which a report reads where it is told to.
    words = ["report", run, "--data", str(folder / "survey.csv")]
    assert main([*words, "--out", str(tmp_path / "page.html"), "--quiet"]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "A mixture of independent columns" in page
    assert main([*words, "--out", str(tmp_path / "page.html")]) == 2


def test_tables_compare_in_their_own_units(folder, capsys):
    """Other bins are the same rows in the same units; other rows, or a level more, are not."""
    assert main(["compare", str(folder / "run"), str(folder / "coarse"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["caution"] is None
    (difference,) = result["differences"]
    nll = {row["run"]: row["nll"] for row in result["runs"]}
    gain = abs(nll["run"] - nll["coarse"])
    assert difference["gain"] == pytest.approx(gain, abs=1e-6)
    known = json.loads((folder / "coarse" / "evaluation.json").read_text())
    far = abs(known["mean"] - known["independent_columns"])
    said = f"coarse: independent columns give {known['independent_columns']:.3f}"
    (sentence,) = [one for one in result["beside"] if one.startswith(said)]
    assert f"this model is {far:.3f} nats" in sentence
    assert "bits per column" in sentence
    assert len(result["beside"]) == 4
    for other, said in (
        ("elsewhere", "evaluated on other rows"),
        ("level", "'colour' are a level"),
    ):
        assert main(["compare", str(folder / "run"), str(folder / other), "--json"]) == 0
        result = json.loads(capsys.readouterr().out)
        assert said in result["caution"]
        assert result["differences"] == []
