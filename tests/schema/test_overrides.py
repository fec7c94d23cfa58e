"""What a person says that columns are."""

import shlex

import numpy as np
import pytest

from wakesleep.errors import UsageError
from wakesleep.schema import (
    LevelColumn,
    NumberColumn,
    infer_schema,
    load_choices,
    options_from,
    parse_choices,
)
from wakesleep.schema.overrides import as_choices


def column_of(values, choice):
    other = [i % 2 for i in range(len(values))]
    return infer_schema({"x": values, "other": other}, {"x": choice}).columns[0]


def test_choices_change_what_columns_are():
    assert column_of(list(range(1, 31)), "numeric").kind == "numeric"
    assert isinstance(column_of([1, 2, 3] * 10, "categorical"), LevelColumn)
    assert column_of([1, 2, 3] * 10, "drop").kind == "dropped"
    assert isinstance(column_of([0, 1] * 10, "numeric"), NumberColumn)
    reals = np.random.default_rng(3).normal(size=50).tolist()
    assert column_of(reals, {"kind": "numeric", "bins": 4}).states == 4
    order = ("c", "b", "a")
    assert column_of(list("bac") * 9, {"kind": "ordinal", "levels": list(order)}).levels == order


def test_choices_are_spelled_alike_everywhere():
    words = parse_choices(['a=b: c=ordinal:"low, really",high', "=numeric", "d=date:%d=%m=%Y"])
    assert words["a=b: c"].levels == ("low, really", "high")
    assert words[""].kind == "numeric"
    assert words["d"].format == "%d=%m=%Y"
    assert as_choices({"grade": "ordinal:low,high"})["grade"].levels == ("low", "high")


def test_a_way_out_can_be_typed_in_a_shell():
    table = {"the code": [f"k{i}" for i in range(20)], "answer": ["yes", "no"] * 10}
    note = infer_schema(table).columns[0].note
    option = shlex.split(note.split("; ")[1])[:2]
    assert option == ["--column", "the code=categorical"]
    assert infer_schema(table, option[1:]).columns[0].kind == "categorical"


def test_choices_and_options_come_from_a_toml_file(tmp_path):
    (tmp_path / "schema.toml").write_text(
        "[options]\nmax_levels = 20\nmissing = 'level'\n"
        "[columns]\nx = 'numeric'\nother = {kind = 'ordinal', levels = [1, 0]}\n"
    )
    choices, options = load_choices(tmp_path / "schema.toml")
    made = options_from(options, "schema.toml")
    assert (made.max_levels, made.missing) == (20, "level")
    schema = infer_schema({"x": [1, 2, 3, 4], "other": [0, 1, 1, 0]}, choices, made)
    assert [column.kind for column in schema.columns] == ["numeric", "ordinal"]
    with pytest.raises(UsageError, match=r"schema.toml: no option is called 'max_level'"):
        options_from({"max_level": 3}, "schema.toml")
    with pytest.raises(UsageError, match=r"schema.toml: max_levels must be 2 or more"):
        options_from({"max_levels": 1}, "schema.toml")


def test_more_given_levels_than_rows_are_taken():
    grades = [str(i) for i in range(50)]
    column = column_of(["3", "7", "9"], {"kind": "ordinal", "levels": grades})
    assert column.levels == tuple(grades)
