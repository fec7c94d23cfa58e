"""`wakesleep mix`, and every command that takes a run folder given that of a mixture."""

import json

import numpy as np
import pandas as pd
import pytest

import wakesleep as ws
from wakesleep.cli import main


def answers(rows, seed):
    rng = np.random.default_rng(seed)
    kind = rng.random(rows) < 0.5
    table = pd.DataFrame(
        {
            "answer": np.where(kind ^ (rng.random(rows) < 0.1), "yes", "no"),
            "colour": np.where(kind, "red", rng.choice(["green", "blue"], rows)),
            "size": np.where(kind, "small", rng.choice(["small", "large"], rows)),
        }
    )
    table.loc[rng.random(rows) < 0.2, "colour"] = None
    return table


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    answers(150, 0).to_csv(folder / "answers.csv", index=False)
    answers(20, 1).to_csv(folder / "new.csv", index=False)
    runs = [str(folder / name) for name in ("one", "two")]
    for order, run in enumerate(runs):
        model = ["--model", f"nade(order={order})/sbn 2", "--quiet"]
        words = ["train", str(folder / "answers.csv"), "--epochs", "5", "--seed", str(order)]
        assert main([*words, *model, "--no-diagnostics", "--out", run]) == 0
    assert main(["mix", *runs, "--out", str(folder / "mixture"), "--samples", "20"]) == 0
    return folder


def test_a_mixture_s_folder_is_a_run(mixed, capsys):
    run = ws.load_run(mixed / "mixture")
    assert run.config.model == "mixture of 2: nade/sbn 2; nade(order=1)/sbn 2"
    assert len(run.machine.components) == 2
    assert [record["epoch"] for record in run.history] == [10]
    assert run.history[0]["valid_ll"] < 0
    words = ["evaluate", str(mixed / "mixture"), "--samples", "50", "--json"]
    assert main(words) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["samples_per_example"] == 100
    assert summary["mean"] > -10
    assert main(["report", str(mixed / "mixture"), "--quiet"]) == 0
    page = (mixed / "mixture" / "report.html").read_text()
    assert "mixture of 2" in page
    assert "10 of all components" in page
    assert main(["compare", str(mixed / "one"), str(mixed / "mixture"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["runs"]
    assert [row["run"] for row in rows] == ["one", "mixture"]


def test_commands_take_it(mixed, tmp_path):
    run, new = str(mixed / "mixture"), str(mixed / "new.csv")
    made = {name: tmp_path / f"{name}.csv" for name in ("score", "impute", "embed", "sample")}
    for name in ("score", "impute", "embed"):
        assert main([name, run, new, "--samples", "20", "--quiet", "--out", str(made[name])]) == 0
    assert main(["sample", run, "--count", "30", "--out", str(made["sample"])]) == 0
    tables = {name: pd.read_csv(path) for name, path in made.items()}
    assert tables["score"]["log_likelihood"].lt(0).all()
    assert tables["impute"]["colour"].notna().all()
    columns = ["answer=yes", "colour=blue", "colour=green", "colour=red", "size=small"]
    latents = ["component_1", "component_2", "c1_h1_1", "c1_h1_2", "c2_h1_1", "c2_h1_2"]
    names = ["row", *columns, *latents]
    assert tables["embed"].columns.tolist() == names
    assert np.allclose(tables["embed"][["component_1", "component_2"]].sum(axis=1), 1)
    assert set(tables["sample"]["colour"].dropna()) <= {"red", "green", "blue"}


def test_what_is_for_one_machine_says_so(mixed, tmp_path, capsys):
    run = str(mixed / "mixture")
    for words in (
        ["show", run, "--out", str(tmp_path / "f.png")],
        ["bootstrap", run, "--points", "2"],
    ):
        assert main(words) == 2
        assert "this is for a single machine" in capsys.readouterr().err
    assert main(["train", "--resume", run]) == 2
    assert "holds a mixture, which is not trained" in capsys.readouterr().err
    with pytest.raises(ws.UsageError, match="put them together"):
        ws.fit(ws.load_run(run).model, ws.load_run(run).data)


def test_what_cannot_be_mixed_is_refused(mixed, tmp_path, capsys):
    one = str(mixed / "one")
    assert main(["mix", one, "--out", str(tmp_path / "m")]) == 2
    assert "at least two runs" in capsys.readouterr().err
    answers(80, 2).to_csv(tmp_path / "other.csv", index=False)
    words = ["train", str(tmp_path / "other.csv"), "--epochs", "1", "--model", "nade(hidden=2)"]
    assert main([*words, "--quiet", "--no-diagnostics", "--out", str(tmp_path / "other")]) == 0
    assert main(["mix", one, str(tmp_path / "other"), "--out", str(tmp_path / "m")]) == 2
    assert "was trained on other data" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()
    assert main(["mix", one, one, "--out", str(mixed / "mixture")]) == 2
    assert "--overwrite replaces it" in capsys.readouterr().err
