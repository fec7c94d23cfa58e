"""Tables with names, categories, numbers and gaps from the command line, end to end."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

import wakesleep as ws
from tests.cli.surveys import COLOURS, MODEL
from wakesleep.cli import main
from wakesleep.storage import read_header


def test_the_schema_is_shown_and_travels_with_the_model(trained, tmp_path, capsys):
    run = ws.load_run(trained)
    assert run.schema.names == ("answer", "colour", "children", "height", "seen")
    assert read_header(run.folder.model_path)["notes"]["schema"] == run.schema.to_dict()
    assert run.machine.groups == run.schema.groups
    assert run.machine.sees_mask
    source = str(trained.parent / "survey.csv")
    words = ["train", source, "--out", str(tmp_path / "run"), "--epochs", "1", *MODEL[:-1]]
    assert main([*words, "--column", "children=categorical", "--bins", "3"]) == 0
    shown = capsys.readouterr().err
    assert shown.index("identifier") < shown.index("epoch 1")
    schema = ws.load_run(tmp_path / "run").schema
    assert {column.name: column.kind for column in schema.columns}["children"] == "categorical"
    data = ws.load_run(tmp_path / "run").data
    assert data.schema.to_dict() == schema.to_dict()


def test_evaluate_is_in_the_units_of_the_table(trained, tmp_path, capsys):
    words = ["evaluate", str(trained), "--method", "exact", "--split", "train"]
    assert main([*words, "--json", "--out", str(tmp_path / "each.csv")]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["mean"] > summary["independent_columns"] + 0.5
    run = ws.load_run(trained)
    bits = ws.log_likelihood(run.machine, run.data.train, method="exact")
    expected = bits.values + run.data.table.log_measure["train"]
    each = pd.read_csv(tmp_path / "each.csv")
    assert np.allclose(each["value"], expected)
    assert np.array_equal(each["row"], run.data.table.numbers["train"])
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "log-likelihood of independent columns" in shown
    assert "log-likelihood of a mixture of independent columns" in shown
    assert shown.count("in bits per column") == 2


def test_scores_depend_on_names_not_on_places(trained, new_file, tmp_path, capsys):
    table = pd.read_csv(new_file)
    table["strange"] = 1
    shuffled = table[sorted(table.columns, reverse=True)].iloc[::-1]
    shuffled.to_csv(tmp_path / "shuffled.tsv", sep="\t", index=False)
    results = {}
    for name in ("new.csv", "shuffled.tsv"):
        out = tmp_path / f"scores-{name}"
        assert main(["score", str(trained), str(tmp_path / name), "--out", str(out)]) == 0
        results[name] = pd.read_csv(out, sep="\t" if name.endswith("tsv") else ",")
    said = capsys.readouterr()
    assert "'strange' is unknown and ignored" in said.err
    assert "wrote the scores of 30 rows" in said.out
    one, other = (result.set_index("person") for result in results.values())
    columns = ["log_likelihood", "percentile", "oddity", "independent_columns", "mixture"]
    columns += ["odd_1_nats", "odd_2_nats", "odd_3_nats"]
    # A row may go without an odd cell in each of them: missing is equal to missing.
    assert one[columns].equals(other.loc[one.index, columns])
    assert one["odd_1"].equals(other.loc[one.index, "odd_1"])
    assert list(one["row"]) == list(range(1, 31))
    assert one["percentile"].between(0, 100).all()


def test_a_score_needs_no_data_and_any_number_has_one(trained, new_file, tmp_path):
    table = pd.read_csv(new_file)
    table.loc[0, "height"] = 250.0
    table.loc[1, "children"] = 40
    table = table.drop(columns="seen")
    table.loc[2, ["answer", "colour", "children", "height"]] = None
    table.to_csv(new_file, index=False)
    moved = trained.parent / "survey.csv"
    hidden = moved.rename(tmp_path / "elsewhere.csv")
    try:
        assert main(["score", str(trained), str(new_file), "--out", str(tmp_path / "s.csv")]) == 0
    finally:
        hidden.rename(moved)
    scores = pd.read_csv(tmp_path / "s.csv")
    assert np.isfinite(scores["log_likelihood"]).all()
    assert (scores["percentile"][:2] == 0).all()
    assert set(scores["oddity"].nlargest(2).index) == {0, 1}
    # What was planted is what is named, with its value; a row of gaps has no odd cell.
    assert list(scores["odd_1"][:2]) == ["height", "children"]
    assert [float(value) for value in scores["odd_1_value"][:2]] == [250, 40]
    assert (scores["odd_1_nats"][:2] > 5).all()
    assert scores.loc[2, ["odd_1", "odd_1_value", "odd_1_nats"]].isna().all()
    # An estimate: the model has latents, of which q knows little without a cell.
    assert scores["log_likelihood"][2] == pytest.approx(0, abs=0.3)


def test_unseen_levels_are_refused_or_missing(trained, new_file, tmp_path, capsys):
    table = pd.read_csv(new_file)
    table.loc[4, "colour"] = "violet"
    table.to_csv(new_file, index=False)
    words = ["score", str(trained), str(new_file), "--out", str(tmp_path / "s.csv")]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "line 6, column 'colour': 'violet'" in said
    assert "--unseen missing" in said
    assert main([*words, "--unseen", "missing"]) == 0
    assert "1 of 30 cells have levels unseen" in capsys.readouterr().err
    words = ["impute", str(trained), str(new_file), "--out", str(tmp_path / "i.csv")]
    assert main([*words, "--unseen", "missing"]) == 0
    imputed = pd.read_csv(tmp_path / "i.csv")
    assert imputed["colour"][4] in COLOURS
    assert imputed["colour"].drop(4).equals(table["colour"].fillna(imputed["colour"]).drop(4))


def test_samples_are_rows_of_the_table(trained, tmp_path, capsys):
    out = tmp_path / "sampled.csv"
    assert main(["sample", str(trained), "--count", "300", "--out", str(out)]) == 0
    assert "wrote 300 rows" in capsys.readouterr().out
    sampled = pd.read_csv(out, sep=";", dtype=str) if ";" in out.read_text() else pd.read_csv(out)
    assert list(sampled.columns) == ["answer", "colour", "children", "height", "seen"]
    assert set(sampled["answer"]) == {"yes", "no"}
    assert set(sampled["colour"]) == COLOURS
    assert not sampled.isna().any().any()
    assert (sampled["children"] == sampled["children"].astype(int)).all()
    assert pd.to_datetime(sampled["seen"]).notna().all()
    # Half of the people are red and short: what the model was trained for.
    heights = sampled.groupby(sampled["colour"] == "red")["height"].mean()
    assert heights[True] < heights[False] - 0.05


def test_samples_fulfil_conditions(trained, tmp_path, capsys):
    out = tmp_path / "given.csv"
    given = "colour=green|blue,children=2..5,height=1.75..,seen=2020-02-01..2020-02-29"
    words = ["sample", str(trained), "--count", "200", "--given", given, "--out", str(out)]
    assert main(words) == 0
    assert "the conditions hold in" in capsys.readouterr().out
    sampled = pd.read_csv(out)
    assert len(sampled) == 200
    assert set(sampled["colour"]) == {"green", "blue"}
    assert sampled["children"].between(2, 5).all()
    assert sampled["height"].min() >= 1.75
    assert pd.to_datetime(sampled["seen"]).between("2020-02-01", "2020-02-29").all()
    # Who is neither red nor short said no, nine times out of ten.
    assert (sampled["answer"] == "no").mean() > 0.7
    assert main(words) == 2
    assert "is there already" in capsys.readouterr().err
    wrong = ["sample", str(trained), "--given", "color=red", "--out", str(tmp_path / "x.csv")]
    assert main(wrong) == 2
    assert "no column 'color'; did you mean 'colour'?" in capsys.readouterr().err


def test_samples_have_gaps_where_they_are_asked_for(trained, tmp_path, capsys):
    out = tmp_path / "gaps.csv"
    words = ["sample", str(trained), "--count", "400", "--gaps", "--out", str(out)]
    assert main([*words, "--given", "height=1.5.."]) == 0
    gone = pd.read_csv(out).isna().mean()
    assert 0.08 < gone["colour"] < 0.22
    assert gone.drop("colour").max() == 0
    bits = ["sample", str(trained), "--gaps", "--out", str(tmp_path / "bits.npy")]
    capsys.readouterr()
    assert main(bits) == 2
    assert "--gaps is for tables with names" in capsys.readouterr().err


def test_embed_gives_features_by_row(trained, new_file, tmp_path, capsys):
    out = tmp_path / "features.csv"
    assert main(["embed", str(trained), str(new_file), "--out", str(out)]) == 0
    assert "wrote 10 features of 30 rows" in capsys.readouterr().out
    features, table = pd.read_csv(out), pd.read_csv(new_file)
    colours = ["colour=blue", "colour=green", "colour=red"]
    columns = ["answer=yes", *colours, "children", "height", "seen"]
    assert list(features.columns) == ["row", "person", *columns, "h1_1", "h1_2", "h1_3"]
    both = features["height"][table["height"].notna()], table["height"].dropna()
    assert np.corrcoef(*both)[0, 1] == pytest.approx(1)
    assert features["height"].between(-4, 4).all()
    np.testing.assert_allclose(features[colours].sum(axis=1), 1, atol=1e-4)
    days = (pd.to_datetime(table["seen"]) - pd.Timestamp(0)).dt.days
    assert np.corrcoef(features["seen"], days)[0, 1] == pytest.approx(1)
    assert features[["h1_1", "h1_2", "h1_3"]].to_numpy().std(axis=0).max() > 0.1


@pytest.mark.parametrize(
    "words",
    [
        ["score", "RUN", "NEW", "--out", "there.csv"],
        ["embed", "RUN", "NEW", "--out", "there.csv"],
        ["impute", "RUN", "NEW", "--out", "there.csv"],
        ["sample", "RUN", "--out", "there.csv"],
        ["evaluate", "RUN", "--out", "there.csv"],
        ["show", "RUN", "--out", "there.png"],
        ["report", "RUN", "--out", "there.html"],
        ["compare", "RUN", "RUN", "--out", "there.svg"],
    ],
    ids=lambda words: words[0],
)
def test_what_is_there_is_not_replaced(words, trained, new_file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / words[-1]).write_text("precious")
    places = {"RUN": str(trained), "NEW": str(new_file)}
    assert main([places.get(word, word) for word in words]) == 2
    error = capsys.readouterr().err
    assert f"{words[-1]} is there already" in error
    assert "--overwrite" in error
    assert error.count("\n") == 1
    assert (tmp_path / words[-1]).read_text() == "precious"


def test_changed_values_are_refused(trained, tmp_path, capsys):
    table = pd.read_csv(trained.parent / "survey.csv", sep=";", dtype=str)
    row = table.index[table["height"].notna()][0]
    table.loc[row, "height"] = str(float(table.loc[row, "height"]) + 0.0001)
    table.to_csv(tmp_path / "survey.csv", sep=";", index=False)
    words = ["evaluate", str(trained), "--data", str(tmp_path / "survey.csv")]
    assert main([*words, "--split", "train"]) == 2
    assert "the contents of" in capsys.readouterr().err


def test_probabilities_of_all_rows_sum_to_one(tmp_path):
    rng = np.random.default_rng(3)
    levels = {"a": ["x", "y"], "b": ["u", "v", "w"], "c": ["k", "l", "m", "n"]}
    rows = pd.DataFrame({name: rng.choice(each, 80) for name, each in levels.items()})
    rows.loc[::5, "b"] = None
    rows.to_csv(tmp_path / "a.csv", index=False)
    run = str(tmp_path / "run")
    words = ["train", str(tmp_path / "a.csv"), "--out", run, "--epochs", "5"]
    assert main([*words, "--model", "sbn/sbn 2-3", "--quiet"]) == 0
    every = pd.DataFrame(itertools.product(*levels.values()), columns=list(levels))
    every.to_csv(tmp_path / "every.csv", index=False)
    out = str(tmp_path / "scores.csv")
    words = ["score", run, str(tmp_path / "every.csv"), "--out", out, "--samples", "2000"]
    assert main(words) == 0
    scores = pd.read_csv(out)
    assert np.exp(scores["log_likelihood"]).sum() == pytest.approx(1, abs=0.02)
    assert np.exp(scores["independent_columns"]).sum() == pytest.approx(1)
    assert np.exp(scores["mixture"]).sum() == pytest.approx(1)
    exact = ws.log_likelihood(
        ws.load_run(run).machine,
        ws.load_run(run).schema.encode(every).bits,
        method="exact",
    )
    assert np.exp(exact.values).sum() == pytest.approx(1, abs=1e-4)


def test_bits_have_scores_and_features_too(tmp_path, capsys):
    rows = (np.random.default_rng(5).random((60, 6)) < 0.5).astype(int)
    np.save(tmp_path / "bits.npy", rows)
    run = str(tmp_path / "run")
    words = ["train", str(tmp_path / "bits.npy"), "--out", run, "--epochs", "2"]
    assert main([*words, *MODEL]) == 0
    out = tmp_path / "out.csv"
    assert main(["score", run, str(tmp_path / "bits.npy"), "--out", str(out)]) == 0
    assert list(pd.read_csv(out)["row"]) == list(range(1, 61))
    words = ["embed", run, str(tmp_path / "bits.npy"), "--out", str(out)]
    assert main(words) == 2
    assert f"{out} is there already" in capsys.readouterr().err
    assert main([*words, "--overwrite"]) == 0
    features = pd.read_csv(out)
    assert np.array_equal(features[[f"x{i}" for i in range(6)]], rows)
    assert main([*words, "--overwrite", "--features", "latents"]) == 0
    alone = pd.read_csv(out)
    assert list(alone) == ["row", "h1_1", "h1_2", "h1_3"]
    assert alone.equals(features[list(alone)])
