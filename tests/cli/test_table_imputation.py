"""`wakesleep impute` on tables with names: gaps filled, all else as it was."""

import pandas as pd
import pytest

from tests.cli.surveys import COLOURS
from wakesleep.cli import main


@pytest.mark.parametrize("how", ["probable", "draw"])
def test_gaps_are_imputed_and_nothing_else(trained, new_file, tmp_path, how, capsys):
    table = pd.read_csv(new_file)
    out = tmp_path / "imputed.csv"
    words = ["impute", str(trained), str(new_file), "--out", str(out), "--how", how, "--quiet"]
    assert main([*words, "--samples", "50", "--moves", "2"]) == 0
    assert f"imputed {table.isna().sum().sum()} missing cells" in capsys.readouterr().out
    imputed = pd.read_csv(out)
    assert list(imputed.columns) == list(table.columns)
    known = table.notna()
    assert imputed.where(known).equals(table)
    assert not imputed.isna().any().any()
    assert set(imputed["colour"]) <= COLOURS
    assert imputed["height"].between(1, 2.5).all()


def test_a_column_that_is_not_there_is_imputed(trained, new_file, tmp_path):
    table = pd.read_csv(new_file).drop(columns="answer")
    table.to_csv(new_file, index=False)
    out = tmp_path / "imputed.parquet"
    words = ["impute", str(trained), str(new_file), "--out", str(out), "--quiet"]
    assert main([*words, "--samples", "20", "--moves", "0"]) == 0
    imputed = pd.read_parquet(out)
    assert list(imputed.columns) == [*table.columns, "answer"]
    assert set(imputed["answer"]) <= {"yes", "no"}


def test_certainty_stands_beside_imputed_cells(trained, new_file, tmp_path):
    table, out = pd.read_csv(new_file), tmp_path / "imputed.csv"
    words = ["impute", str(trained), str(new_file), "--out", str(out), "--beside", "--quiet"]
    assert main(words) == 0
    imputed = pd.read_csv(out)
    names = [name for name in imputed.columns if "." not in name]
    assert names == list(table.columns)
    assert set(imputed.columns) - set(names) == {"colour.probability", "height.low", "height.high"}
    gaps = table["height"].isna()
    assert imputed["height.low"].notna().equals(gaps)
    inside = imputed[gaps]
    assert (inside["height.low"] <= inside["height"]).all()
    assert (inside["height"] <= inside["height.high"]).all()
    chances = imputed["colour.probability"]
    assert chances.notna().equals(table["colour"].isna())
    assert chances.dropna().between(1 / 3 - 1e-4, 1).all()


def test_a_text_file_s_numbers_and_dates_are_such_in_a_file_with_types(trained, new_file, tmp_path):
    table, out = pd.read_csv(new_file, parse_dates=["seen"]), tmp_path / "imputed.parquet"
    words = ["impute", str(trained), str(new_file), "--out", str(out), "--quiet"]
    assert main([*words, "--samples", "20", "--moves", "0"]) == 0
    imputed = pd.read_parquet(out)
    kinds = {name: imputed[name].dtype.kind for name in ("children", "height")}
    assert kinds == {"children": "i", "height": "f"}
    assert imputed["children"].tolist() == table["children"].tolist()
    assert pd.to_datetime(imputed["seen"]).tolist() == table["seen"].tolist()
    assert not isinstance(imputed["seen"][0], str)


def test_several_draws_stand_below_each_other_and_are_counted(trained, new_file, tmp_path, capsys):
    table, out = pd.read_csv(new_file), tmp_path / "draws.csv"
    words = ["impute", str(trained), str(new_file), "--out", str(out), "--quiet", "--draws", "3"]
    assert main(words) == 2
    assert "--draws goes with --how draw" in capsys.readouterr().err
    assert main([*words, "--how", "draw", "--samples", "20", "--moves", "0"]) == 0
    assert "wrote 90 rows" in capsys.readouterr().out
    drawn = pd.read_csv(out)
    assert list(drawn.columns) == ["draw", *table.columns]
    each = [part.drop(columns="draw").reset_index(drop=True) for _, part in drawn.groupby("draw")]
    for part in each:
        assert part.where(table.notna()).equals(table)
        assert part.notna().all().all()
    assert not each[0].equals(each[1])


def test_a_file_may_have_an_encoding_of_its_own(trained, new_file, tmp_path, capsys):
    table = pd.read_csv(new_file)
    table["note"] = "schön"
    table.to_csv(new_file, index=False, encoding="latin-1")
    words = ["score", str(trained), str(new_file), "--odd-cells", "0", "--samples", "5"]
    words += ["--out", str(tmp_path / "scores.csv")]
    assert main(words) == 2
    assert "--encoding latin-1" in capsys.readouterr().err
    assert main([*words, "--encoding", "latin-1"]) == 0
    assert "column 'note' is unknown" in capsys.readouterr().err
