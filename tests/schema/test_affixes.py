"""Numbers written with signs: money, per cents, units and thousands."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakesleep.errors import DataError
from wakesleep.schema import NumberColumn, Schema, infer_schema, to_native
from wakesleep.schema.affixes import PLAIN, Affixes, find_affixes
from wakesleep.schema.output import write_frame

SPELLINGS = [
    (["$1,200.50", "$800.00", "-$950.25", "$3.00"], [1200.5, 800, -950.25, 3]),
    (["10%", "20%", "35.5%", "0.5%"], [10, 20, 35.5, 0.5]),
    (["12 kg", "7 kg", "100 kg"], [12, 7, 100]),
    (["1,234", "950", "12,000", "1,000,000"], [1234, 950, 12000, 1000000]),
    (["1 234", "12 000", "3"], [1234, 12000, 3]),
    (["US$5", "US$12", "US$-3"], [5, 12, -3]),
    (["5 €", "1'200 €", "80 €"], [5, 1200, 80]),
    (["$5", "6", "$7"], [5, 6, 7]),
    (["\N{MINUS SIGN}2", "3.5", "\N{MINUS SIGN}1.25"], [-2, 3.5, -1.25]),
    (["(4,237.14)", "12.00", "$(22)", "($80.10)"], [-4237.14, 12, -22, -80.1]),
]

NAMES = [
    ["room 12", "room 13", "room 14"],
    ["Q1", "Q2", "Q3"],
    ["1st", "2nd", "3rd"],
    ["12A", "13B", "14C"],
    ["001%", "002%", "003%"],
    ["1,5", "2,5", "3,5"],
    ["1,23", "4,567", "8,9"],
    ["3-4", "5-6", "7-8"],
    ["$5", "six", "$7"],
    ["(1)", "(2)", "(3)"],
    ["-(1)", "(2)", "3"],
    ["Q(1)", "(2)", "3"],
]


def only(schema: Schema) -> NumberColumn:
    (column,) = schema.modelled
    assert isinstance(column, NumberColumn)
    return column


@pytest.mark.parametrize(("texts", "numbers"), SPELLINGS)
def test_signs_around_digits_make_no_names_of_numbers(texts: list, numbers: list) -> None:
    rows = {"x": texts * 5}
    schema = infer_schema(rows)
    assert only(schema).kind == "numeric"
    assert "takes them for names" in only(schema).note
    assert schema.encode(rows).within[:, 0].tolist() == numbers * 5
    # Plain numbers are the same, in a file of text and in a frame.
    plain = schema.encode({"x": [f"{one:g}" for one in numbers]})
    assert plain.codes.tolist() == schema.encode({"x": texts}).codes.tolist()
    assert schema.encode({"x": np.array(numbers, float)}).codes.tolist() == plain.codes.tolist()


@pytest.mark.parametrize("texts", NAMES)
def test_names_with_digits_stay_names(texts: list) -> None:
    (column,) = infer_schema({"x": texts * 5}).modelled
    assert column.kind == "categorical"


@pytest.mark.parametrize(("texts", "numbers"), [*SPELLINGS[:4], *SPELLINGS[-2:]])
def test_samples_are_written_in_the_same_way(texts: list, numbers: list) -> None:
    schema = infer_schema({"x": texts * 5})
    drawn = schema.decode(schema.encode({"x": texts * 5}).bits, 0)
    again = schema.encode({"x": to_native(drawn, like=pd.DataFrame({"x": texts}))["x"].tolist()})
    assert again.codes.tolist() == schema.encode({"x": texts * 5}).codes.tolist()
    for like in (pd.DataFrame({"x": texts}, dtype=object), pl.DataFrame({"x": texts})):
        first = next(iter(to_native(drawn, like=like)["x"]))
        assert isinstance(first, str)
        assert only(schema).affixes.strip(first) != first or "," not in texts[0]
        below = only(schema).affixes.negative[0]
        starts = [one.startswith(below) for one in to_native(drawn, like=like)["x"]]
        assert starts == [one < 0 for one in numbers] * 5


def test_a_file_has_the_signs_and_is_read_again(tmp_path) -> None:
    schema = infer_schema({"price": ["$1,200.50", "$800.00", "$950.25"] * 4})
    drawn = schema.decode(schema.encode({"price": ["$1,200.50", "$800.00"]}).bits, 0)
    write_frame(drawn, tmp_path / "new.csv")
    lines = (tmp_path / "new.csv").read_text().splitlines()
    assert lines[0] == "price"
    assert lines[1].strip('"').startswith("$")
    assert lines[1].rpartition(".")[2].strip('"').isdigit()
    codes = schema.encode(tmp_path / "new.csv").codes
    assert codes.tolist() == schema.encode({"price": ["$1,200.50", "$800.00"]}).codes.tolist()


def test_a_word_among_them_is_named() -> None:
    schema = infer_schema({"x": ["10%", "20%", "35%"] * 4})
    with pytest.raises(DataError, match=r"row 2.*'lots' is no number"):
        schema.encode({"x": ["5%", "lots", "7%"]})


def test_conditions_may_have_the_signs() -> None:
    from wakesleep.schema import parse_given

    schema = infer_schema({"x": ["$10", "$20", "$35"] * 4})
    (with_signs,), (plain,) = (parse_given(schema, text) for text in ("x=$10..$20", "x=10..20"))
    assert with_signs.ranges == plain.ranges
    assert with_signs.shares.tolist() == plain.shares.tolist()


def test_signs_are_stored_with_the_schema_and_checked() -> None:
    schema = infer_schema({"x": ["$1,000", "$2,000", "$35"] * 4})
    values = json.loads(json.dumps(schema.to_dict()))
    assert only(Schema.from_dict(values)).affixes == Affixes("$", "", ",")
    assert "negative" not in values["columns"][0]["affixes"]
    below = infer_schema({"x": ["(5)", "7", "9"] * 4})
    again = Schema.from_dict(json.loads(json.dumps(below.to_dict())))
    assert only(again).affixes == Affixes(negative="()")
    usual = {"before": "", "after": "", "thousands": ""}
    for wrong in (
        {**usual, "negative": "minus"},
        {**usual, "more": ""},
        {},
        {"before": 3, "after": "", "thousands": ""},
        {"before": "1"},
        None,
    ):
        values["columns"][0]["affixes"] = wrong
        with pytest.raises(DataError, match="affixes"):
            Schema.from_dict(values)


def test_times_of_day_are_no_numbers_with_a_unit() -> None:
    (column,) = infer_schema({"x": ["10:30 AM", "11:45 AM", "9:15 AM"] * 4}).modelled
    assert column.kind == "date"


@given(
    st.builds(
        Affixes,
        st.sampled_from(["", "$", "€ "]),
        st.sampled_from(["", "%", " kg"]),
        st.sampled_from(["", ",", " "]),
        st.sampled_from(["-", "\N{MINUS SIGN}", "()"]),
    ),
    st.lists(st.integers(-(10**9), 10**9), min_size=1),
)
def test_what_is_put_is_stripped(affixes: Affixes, numbers: list[int]) -> None:
    numbers = [*numbers, 7]
    texts = [affixes.put(str(one)) for one in numbers]
    assert [affixes.strip(text) for text in texts] == [str(one) for one in numbers]
    found = find_affixes(texts, comma=False)
    assert [found.strip(text) for text in texts] == [str(one) for one in numbers]


def test_words_have_no_signs() -> None:
    assert find_affixes(["yes", "no"], comma=False) == PLAIN
    assert find_affixes([], comma=False) == PLAIN
