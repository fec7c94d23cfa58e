"""First rows of which some names are numbers: said, and asked for."""

import csv
import random

import pytest

from tests.cli.surveys import MODEL
from wakesleep.cli import main

RANDOM = random.Random(3)
ROWS = [
    ["c" + RANDOM.choice("abc"), f"{RANDOM.random():.2f}", RANDOM.choice("xy")] for _ in range(60)
]


def table(path, names):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *ROWS])
    return str(path)


def test_years_are_names_where_a_person_says_so(tmp_path, capsys):
    file = table(tmp_path / "wide.csv", ["country", "1990", "2000"])
    assert main(["schema", file]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "taken for names, '1990', '2000' among them: --header says that it is one" in said
    out = str(tmp_path / "run")
    assert main(["train", file, "--out", out, "--epochs", "1", *MODEL]) == 2
    assert "--header if numbers are among them" in capsys.readouterr().err
    assert main(["train", file, "--header", "--out", out, "--epochs", "1", *MODEL]) == 0
    capsys.readouterr()
    assert main(["schema", file, "--header"]) == 0
    assert "taken for names" not in capsys.readouterr().out


def test_numbered_columns_are_found_again(tmp_path, capsys):
    file = table(tmp_path / "numbered.csv", ["0", "1", "2"])
    out = str(tmp_path / "run")
    assert main(["train", file, "--header", "--out", out, "--epochs", "1", *MODEL]) == 0
    new = table(tmp_path / "new.csv", ["0", "1", "2"])
    assert main(["score", out, new, "--samples", "5", "--out", str(tmp_path / "scores.csv")]) == 0
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 61


def test_both_at_once_are_refused(tmp_path, capsys):
    file = table(tmp_path / "wide.csv", ["country", "1990", "2000"])
    assert main(["schema", file, "--header", "--no-header"]) == 2
    assert "contradict each other" in capsys.readouterr().err


@pytest.mark.parametrize(("columns", "words"), [(1, "1 column of the model has"), (2, "2 columns")])
def test_one_column_is_no_plural(columns, words, tmp_path, capsys):
    path = tmp_path / "narrow.csv"
    rows = [[row[0], row[2]][:columns] for row in ROWS]
    path.write_text("\n".join(map(",".join, [["a", "b"][:columns], *rows])))
    assert main(["schema", str(path)]) == 0
    assert words in capsys.readouterr().out
