"""Tables as people have them."""

import json

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn import datasets

from wakesleep.cli.schema import Schema as Command
from wakesleep.cli.table_options import TableOptions
from wakesleep.schema import (
    Schema,
    SchemaOptions,
    impute_missing,
    infer_schema,
    read_frame,
    to_native,
    write_frame,
)

RNG = np.random.default_rng(11)


def rows_of(*columns):
    header = [name for name, _ in columns]
    body = zip(*(values for _, values in columns), strict=True)
    return "\n".join(",".join(map(str, row)) for row in [header, *body]) + "\n"


def choose(levels, rows=60):
    return RNG.choice(levels, rows).tolist()


NUMBERS = np.round(RNG.normal(50, 10, 60), 1)
RAIN = np.where(RNG.random(60) < 0.4, 0.0, np.round(RNG.exponential(8, 60), 1))
DAYS = np.datetime64("2019-05-01") + RNG.integers(0, 500, 60)
SNIPPETS = {
    "yes and no": rows_of(("smoker", choose(["yes", "no"])), ("age", choose(range(18, 80)))),
    "truth": rows_of(("member", choose(["True", "False"])), ("plan", choose(["a", "b", "c"]))),
    "semicolons": rows_of(("weight", NUMBERS), ("sex", choose(["M", "F"])))
    .replace(",", ";")
    .replace(".", ","),
    "id": rows_of(("id", range(60)), ("level", choose(["low", "mid", "high"])), ("x", NUMBERS)),
    "dates": rows_of(("day", DAYS), ("seen", choose(["0", "1", ""])), ("x", NUMBERS)),
    "zeros": rows_of(("rain", RAIN), ("wet", np.where(RAIN > 0, "yes", "no"))),
    "cap": rows_of(("value", np.minimum(NUMBERS, 58.0)), ("rooms", choose(range(1, 8)))),
    "gaps": rows_of(
        ("a", choose(["x", "y", "?", "z"])), ("b", choose(["1.5", "2.5", "NA", "7.0"]))
    ),
}
FRAMES = {
    "wine": datasets.load_wine,
    "iris": datasets.load_iris,
    "breast cancer": datasets.load_breast_cancer,
    "diabetes": datasets.load_diabetes,
}
NAMES = [*SNIPPETS, *FRAMES]


@pytest.fixture
def table(request, tmp_path):
    if request.param in FRAMES:
        return FRAMES[request.param](as_frame=True).frame
    path = tmp_path / "table.csv"
    path.write_text(SNIPPETS[request.param])
    return path


@pytest.mark.parametrize("table", NAMES, indirect=True)
def test_a_table_goes_to_bits_and_back(table):
    frame = read_frame(table)
    schema = Schema.from_dict(json.loads(json.dumps(infer_schema(frame).to_dict())))
    encoded = schema.encode(frame)
    back = schema.decode(encoded.bits, 0, encoded.observed)
    np.testing.assert_array_equal(schema.encode(back).bits, encoded.bits)
    assert not encoded.notes


@pytest.mark.parametrize("table", NAMES, indirect=True)
def test_independent_columns_beat_one_wide_bin(table):
    """Log-densities add up to something sensible: the marginals of the bins beat a uniform."""
    schema = infer_schema(table, options=SchemaOptions(atoms=False))
    encoded = schema.encode(table)
    measure = schema.log_measure(encoded)
    for group, states in enumerate(schema.states):
        seen = encoded.observed[:, group]
        counts = np.bincount(encoded.codes[seen, group], minlength=states) + 0.5
        log_p = np.log(counts) - np.log(counts.sum())
        assert logsumexp(log_p) == pytest.approx(0.0)
        score = (log_p[encoded.codes[seen, group]] + measure[seen, group]).mean()
        values = encoded.within[seen, group]
        if not np.isnan(values).any():
            whole = (values == np.rint(values)).all()
            assert score > -np.log(np.ptp(values) + whole) - 0.1


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_file_comes_out_as_it_is_written(name, tmp_path):
    (tmp_path / "table.csv").write_text(SNIPPETS[name])
    frame = read_frame(tmp_path / "table.csv")
    schema = infer_schema(frame)
    encoded = schema.encode(frame)
    sampled = schema.decode(encoded.bits, 5, encoded.observed)
    write_frame(sampled, tmp_path / "out.csv")
    again = schema.encode(tmp_path / "out.csv")
    np.testing.assert_array_equal(again.bits, encoded.bits)
    before, after = to_native(frame), to_native(sampled)
    for column in schema.modelled:
        one, other = (
            {
                len(row[rows[0].index(column.name)].replace(",", ".").partition(".")[2])
                for row in rows[1:]
            }
            for rows in (before, after)
        )
        assert max(other) <= max(one)  # decimals as many as the column had
    filled = to_native(impute_missing(frame, sampled))
    assert filled[0] == before[0]


def decimals(cell):
    return len(cell.replace(",", ".").partition(".")[2])


def kinds(name, tmp_path):
    (tmp_path / "table.csv").write_text(SNIPPETS[name])
    return {column.name: column for column in infer_schema(tmp_path / "table.csv").columns}


def test_the_snippets_are_what_they_say(tmp_path):
    assert kinds("yes and no", tmp_path)["smoker"].kind == "binary"
    assert kinds("truth", tmp_path)["member"].kind == "binary"
    assert kinds("semicolons", tmp_path)["weight"].comma
    assert kinds("id", tmp_path)["id"].kind == "identifier"
    assert kinds("dates", tmp_path)["day"].kind == "date"
    assert kinds("dates", tmp_path)["seen"].missing > 0
    assert kinds("zeros", tmp_path)["rain"].bins.atoms.tolist() == [0.0]
    assert kinds("cap", tmp_path)["value"].bins.atoms.tolist() == [58.0]
    assert kinds("gaps", tmp_path)["a"].levels == ("x", "y", "z")


def test_the_command_shows_the_table(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "table.csv").write_text(SNIPPETS["id"])
    (tmp_path / "schema.toml").write_text("[columns]\nx = {kind = 'numeric', bins = 3}\n")
    command = Command(
        tmp_path / "table.csv",
        table=TableOptions(("level=ordinal:low,mid,high",), tmp_path / "schema.toml"),
    )
    assert command.run() == 0
    shown = capsys.readouterr().out
    assert "identifier" in shown
    assert "ordinal" in shown
    assert "3: 'low', 'mid', 'high'" in shown
    assert "3 bins from" in shown
    assert "60 rows; 2 columns of the model have 6 units" in shown


def test_a_narrow_terminal_cuts_no_option_that_a_note_advises(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    names = ("favourite_food_of_the_family", [f"meal {i}" for i in range(60)])
    (tmp_path / "table.csv").write_text(rows_of(names, ("x", NUMBERS)))
    assert Command(tmp_path / "table.csv").run() == 0
    advice = "--column favourite_food_of_the_family=categorical keeps it"
    assert advice in capsys.readouterr().out


def test_the_command_prints_json(tmp_path, capsys):
    (tmp_path / "table.csv").write_text(SNIPPETS["gaps"])
    options = TableOptions(missing="level", bins=2)
    assert Command(tmp_path / "table.csv", json=True, table=options).run() == 0
    schema = Schema.from_dict(json.loads(capsys.readouterr().out))
    assert schema.states == (4, 3)
