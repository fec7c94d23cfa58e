"""Schemas as JSON values, a stranger's among them; and the table that shows one."""

import copy
import json

import numpy as np
import pytest

from wakesleep.errors import DataError
from wakesleep.schema import Schema, SchemaOptions, infer_schema

RNG = np.random.default_rng(2)
TABLE = {
    "id": list(range(40)),
    "answer": ["yes", "no"] * 20,
    "region": ["north", "south", "east", None] * 10,
    "size": RNG.normal(size=40).tolist(),
    "count": RNG.poisson(3, 40).tolist(),
    "born": [f"19{50 + i}-03-01" for i in range(40)],
    "unit": ["kg"] * 40,
    "city": [f"city {i % 15}" for i in range(40)],
}
SCHEMA = infer_schema(TABLE, options=SchemaOptions(max_levels=10))


def test_a_schema_is_plain_json_with_a_version():
    values = SCHEMA.to_dict()
    assert json.loads(json.dumps(values)) == values
    assert (values["format"], values["version"]) == ("wakesleep-schema", 1)
    assert Schema.from_dict(values).to_dict() == values


def changed(path, value):
    values = copy.deepcopy(SCHEMA.to_dict())
    at = values
    for key in path[:-1]:
        at = at[key]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return values


SIZE = ["columns", 3, "bins"]
WRONG = [
    (3, "its format must be"),
    ({}, "its format must be"),
    (changed(["version"], 4), "update wakesleep"),
    (changed(["columns"], None), "has no 'columns'"),
    (changed(["columns"], 5), "'columns' must be a list"),
    (changed(["columns"], []), "no column with levels or bins"),
    (changed(["columns", 2], "x"), "column 3 has no 'type'"),
    (changed(["columns", 2, "type"], "layer"), "column 3: 'type' must be one of levels, number"),
    (changed(["columns", 2, "name"], 7), "'name' must be a text"),
    (changed(["columns", 2, "name"], "answer"), "two columns called 'answer'"),
    (changed(["columns", 2, "levels"], None), "has no 'levels'"),
    (changed(["columns", 2, "levels"], [1, 2]), "'levels' must be a list of texts"),
    (changed(["columns", 2, "levels"], ["a", "a"]), "each once"),
    (changed(["columns", 2, "levels"], ["a"]), "two at least"),
    (changed(["columns", 2, "storage"], "whole"), "'levels' must be of the type 'whole'"),
    (changed(["columns", 2, "missing"], 2), "'missing' must be a number from 0 to 1"),
    (changed(["columns", 2, "missing_level"], 1), "'missing_level' must be true or false"),
    (changed(["columns", 5, "unit"], "week"), "'unit' must be one of day"),
    (changed([*SIZE, "lower"], ["x"]), "'lower' must be a list of numbers"),
    (changed([*SIZE, "lower"], [float("nan")]), "finite"),
    (changed([*SIZE, "cuts"], [1.0]), "'cuts' fewer"),
    (changed([*SIZE, "left"], [1.0]), "equally long"),
    (changed([*SIZE, "scales"], [0.0, 1.0]), "'scales' must be two positive numbers"),
    (changed([*SIZE, "scales"], [1.0]), "'scales' must be two positive numbers"),
    (changed([*SIZE, "left", 2], 0.5), "where there is room"),
    (changed([*SIZE, "left", 0], 1.0), "shares of less than 1"),
    (changed([*SIZE, "lower", 0], 1e9), "must increase"),
]


@pytest.mark.parametrize(("values", "part"), WRONG, ids=[part for _, part in WRONG])
def test_a_strangers_values_get_one_sentence(values, part):
    with pytest.raises(DataError) as caught:
        Schema.from_dict(values, "model.json")
    assert str(caught.value).startswith("model.json")
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_table_shows_every_column():
    rows = {row.name: row for row in SCHEMA.table()}
    assert list(rows) == list(TABLE)
    assert rows["id"].kind == "identifier"
    assert "--column id=numeric" in rows["id"].note
    assert rows["region"].missing == pytest.approx(0.25)
    assert rows["region"].detail == "3: 'east', 'north', 'south'"
    assert "6 rare ones are 'other'" in rows["city"].detail
    assert "from 1950-03-01 to 1989-03-01" in rows["born"].detail
    assert rows["unit"].detail == "'kg'"
    assert sum(row.units for row in rows.values()) == SCHEMA.units == sum(SCHEMA.groups)
