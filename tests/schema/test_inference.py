"""What columns are taken for."""

import numpy as np
import pytest

from wakesleep.errors import DataError, UsageError
from wakesleep.schema import (
    SchemaOptions,
    infer_schema,
    read_frame,
)

RNG = np.random.default_rng(3)
ROWS = 60


def column_of(values, choice=None, options=None):
    """The column, beside another that a model can be made of."""
    other = [i % 2 for i in range(len(values))]
    overrides = {} if choice is None else {"x": choice}
    return infer_schema({"x": values, "other": other}, overrides, options).columns[0]


def texts(values):
    return [str(value) for value in values]


KINDS = {
    "yes and no": (["yes", "no"] * 30, "binary"),
    "truth": ([True, False] * 30, "binary"),
    "truth in text": (["TRUE", "FALSE"] * 30, "binary"),
    "bits": ([0, 1] * 30, "binary"),
    "one and two": (texts([1, 2] * 30), "binary"),
    "sexes": (["M", "F", None] * 20, "binary"),
    "colours": (["red", "green", "blue"] * 20, "categorical"),
    "codes": (["007", "010", "020"] * 20, "categorical"),
    "doors": (["2", "3", "4", "5more"] * 15, "categorical"),
    "small counts": ([0, 1, 2, 3] * 15, "numeric"),
    "reals": (RNG.normal(size=ROWS).tolist(), "numeric"),
    "reals in text": (texts(RNG.normal(size=ROWS)), "numeric"),
    "dates": ([f"2021-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(ROWS)], "date"),
    "german dates": ([f"{1 + i % 28}.{1 + i % 12}.2021" for i in range(ROWS)], "date"),
    "moments": ([f"2021-03-0{1 + i % 9}T10:{i % 60:02d}:00" for i in range(ROWS)], "date"),
    "times": ([f"{i % 24:02d}:{i % 60:02d}" for i in range(ROWS)], "date"),
    "constant": (["x"] * ROWS, "constant"),
    "constant with gaps": (["x", None] * 30, "constant"),
    "empty": ([None] * ROWS, "empty"),
    "running number": (list(range(1001, 1001 + ROWS)), "identifier"),
    "gaps in it": (sorted(RNG.choice(75, ROWS, replace=False).tolist()), "identifier"),
    "names": ([f"person {i}" for i in range(ROWS)], "identifier"),
    "uuids": ([f"{i:08x}-0000-4000-8000-{i:012x}" for i in range(ROWS)], "identifier"),
    "free text": ([f"this is what I think of item {i}" for i in range(ROWS)], "text"),
    "mostly distinct": ([f"town {i % 40}" for i in range(ROWS)], "text"),
    "lists": ([[1], [2, 3]] * 30, "unsupported"),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds_by_looking(name):
    values, kind = KINDS[name]
    column = column_of(values)
    assert column.kind == kind
    assert bool(column.states) == (
        kind not in ("constant", "empty", "identifier", "text", "unsupported")
    )
    if not column.states and kind != "constant":
        assert column.note.startswith("left out")


@pytest.mark.parametrize("name", KINDS)
def test_kinds_do_not_depend_on_the_order_of_rows(name):
    values, kind = KINDS[name]
    shuffled = [values[i] for i in np.random.default_rng(0).permutation(len(values))]
    one, other = column_of(values), column_of(shuffled)
    assert other.kind == kind
    if kind not in ("identifier", "text"):
        assert one.to_dict() == other.to_dict()


def test_distinct_numbers_that_are_called_an_id_are_one():
    numbers = (RNG.permutation(10**6)[:ROWS] + 1).tolist()
    for name, kind in [("customerID", "identifier"), ("row_id", "identifier"), ("paid", "numeric")]:
        schema = infer_schema({name: numbers, "other": [0, 1] * 30})
        assert schema.columns[0].kind == kind


def test_numbers_of_nineteen_digits_that_are_called_an_id_are_one():
    rng = np.random.default_rng(0)
    numbers = (1_212_092_628_029_698_048 + rng.permutation(10**6)[:60] * 997).tolist()
    for cells in (numbers, texts(numbers)):
        schema = infer_schema({"id": cells, "answer": ["yes", "no"] * 30})
        assert schema.columns[0].kind == "identifier"


def test_numbers_of_any_size_have_finite_densities():
    rng = np.random.default_rng(0)
    large, small = 1e300 * rng.normal(size=60), 1e-300 * rng.normal(size=60)
    schema = infer_schema({"large": large.tolist(), "small": small.tolist()})
    encoded = schema.encode({"large": large.tolist(), "small": small.tolist()})
    assert np.isfinite(schema.row_measure(encoded)).all()
    drawn = schema.decode(encoded.bits, 0)
    assert np.isfinite(drawn["large"].values).all()
    unsigned = 2**63 + 10**6 * np.arange(60, dtype=np.uint64)[:, None]
    assert infer_schema(unsigned[rng.permutation(60) // 2]).columns[0].bins.range()[0] > 0


def test_draws_stay_within_the_training_range():
    schema = infer_schema({"grade": [1, 2, 3] * 5, "size": [0.5 * (i % 8) for i in range(15)]})
    bits = schema.encode({"grade": [1, 2, 3], "size": [0.0, 1.5, 3.5]}).bits
    drawn = schema.decode(np.repeat(bits, 500, axis=0), 0)
    assert set(drawn["grade"].values.tolist()) == {1, 2, 3}
    assert 0.0 <= drawn["size"].values.min() <= drawn["size"].values.max() <= 3.5


def test_whole_numbers_reals_and_their_decimals():
    assert column_of([1.0, 2.0, 3.0, None] * 10).storage == "whole"
    assert column_of(["1.50", "2.00", "3.25"] * 10).decimals == 2
    assert column_of([1.5, 2.0, 3.2] * 10).bins.decimals == 1
    assert column_of([1 / 3, 1 / 7, 3.2] * 10).bins.decimals is None
    assert column_of(["1e-9", "2.0", "3.2"] * 10).kind == "numeric"


def test_ambiguous_dates_are_said():
    values = [f"{1 + i % 12:02d}/{1 + i % 11:02d}/2021" for i in range(ROWS)]
    assert "month/day/year" in column_of(values).note
    chosen = column_of(values, {"kind": "date", "format": "%d/%m/%Y"})
    assert chosen.pattern == "%d/%m/%Y"
    assert not chosen.note


@pytest.mark.parametrize(
    ("step", "unit"), [("D", "day"), ("h", "hour"), ("m", "minute"), ("s", "second")]
)
def test_moments_count_the_coarsest_unit_that_holds_them(step, unit):
    moments = np.datetime64("2021-01-01") + np.arange(ROWS).astype(f"timedelta64[{step}]")
    column = column_of(moments.astype("datetime64[us]").tolist())
    assert column.unit == unit
    assert column.bins.whole


def test_rare_levels_are_pooled_above_the_limit_and_said_once():
    levels = [f"level {i}" for i in range(30)]
    values = [level for i, level in enumerate(levels) for _ in range(40 - i)]
    schema = infer_schema({"x": values}, options=SchemaOptions(max_levels=10))
    (column,) = schema.columns
    assert column.levels == tuple(sorted(levels[:9]))
    assert (column.other, column.pooled, column.states) == ("other", 21, 10)
    assert sum("pooled" in note for note in schema.notes) == 1


def test_a_level_called_other_keeps_its_name():
    values = ["other"] * 50 + [f"level {i}" for i in range(10) for _ in range(5)]
    column = column_of(values, options=SchemaOptions(max_levels=3))
    assert "other" in column.levels
    assert column.other == "other (pooled)"


def test_levels_that_may_be_one_are_said():
    schema = infer_schema({"where": ["North", "south", "north", "West"] * 5})
    assert "'North' and 'north' are two levels" in schema.modelled[0].note
    apart = infer_schema({"where": ["North", "south", "West"] * 5})
    assert apart.modelled[0].note == ""


def test_units_keep_to_the_budget():
    table = {f"c{i}": [f"l{j % (5 + 20 * i)}" for j in range(400)] for i in range(5)}
    table["n"] = RNG.normal(size=400).tolist()
    free = infer_schema(table)
    schema = infer_schema(table, options=SchemaOptions(max_units=60))
    assert schema.units <= 60 < free.units
    assert max(schema.groups) - 5 >= min(schema.groups)  # the large ones shrink first
    assert any("max_units = 60" in note for note in schema.notes)
    schema.encode(table)
    with pytest.raises(UsageError, match="more than max_units"):
        infer_schema(table, options=SchemaOptions(max_units=3))


def test_missingness_can_be_a_level():
    table = {"x": ["a", None, "b", "a"], "y": [1.5, 2.5, None, 7.5], "z": [0, 1, 1, 0]}
    plain = infer_schema(table)
    schema = infer_schema(table, options=SchemaOptions(missing="level"))
    assert plain.groups[0] == 1
    assert [after - before for before, after in zip(plain.states, schema.states, strict=True)] == [
        1,
        1,
        0,
    ]
    encoded = schema.encode(table)
    assert encoded.observed.all()
    back = schema.decode(encoded.bits, 0)
    assert back["x"].missing.tolist() == [False, True, False, False]
    assert back["y"].missing.tolist() == [False, False, True, False]
    one = infer_schema(table, {"y": {"missing": "level"}})
    assert [column.missing_level for column in one.columns] == [False, True, False]


def test_a_constant_with_gaps_is_two_levels_where_missingness_is_one():
    schema = infer_schema(
        {"x": ["a", None] * 5, "y": [0, 1] * 5}, options=SchemaOptions(missing="level")
    )
    assert schema.groups == (1, 1)
    assert schema.encode({"x": ["a", None], "y": [0, 1]}).bits.tolist() == [[0, 0], [1, 1]]


def test_an_unseen_level_is_other_with_a_count_or_an_error_that_names_it():
    many = [f"l{i}" for i in range(30) for _ in range(31 - i)]
    schema = infer_schema({"x": many}, options=SchemaOptions(max_levels=10))
    encoded = schema.encode({"x": ["l0", "new", "new", "newer"]})
    assert encoded.codes[:, 0].tolist() == [0, 9, 9, 9]
    assert "3 cells" in encoded.notes[0]
    assert "'new'" in encoded.notes[0]
    few = infer_schema({"x": ["a", "b", "c"] * 5})
    with pytest.raises(
        DataError, match="row 2, column 'x': 'd' is none of the training rows' levels"
    ):
        few.encode({"x": ["a", "d"]})


def test_a_word_in_a_number_column_is_an_error_when_scoring():
    schema = infer_schema({"x": RNG.normal(size=30).tolist()})
    with pytest.raises(DataError, match="row 2, column 'x': 'high' is no number"):
        schema.encode({"x": ["1.5", "high"]})
    dates = infer_schema({"x": [f"2021-01-{i:02d}" for i in range(1, 29)]})
    with pytest.raises(DataError, match="row 1, column 'x': 'soon' is no date"):
        dates.encode({"x": ["soon"]})


def test_a_half_in_a_column_of_whole_numbers_is_rounded_and_said():
    schema = infer_schema({"x": RNG.poisson(4, 100).tolist()})
    encoded = schema.encode({"x": [2.4, 3.0]})
    assert encoded.within[:, 0].tolist() == [2.0, 3.0]
    assert "1 cells are no whole numbers" in encoded.notes[0]


def test_columns_are_matched_by_name():
    table = {"x": ["a", "b", "c"] * 5, "y": RNG.normal(size=15).tolist(), "z": [0, 1, 1] * 5}
    schema = infer_schema(table)
    straight = schema.encode(table)
    turned = schema.encode({name: table[name] for name in ("z", "x", "y")} | {"extra": [1] * 15})
    np.testing.assert_array_equal(straight.bits, turned.bits)
    assert "'extra' is unknown and ignored" in turned.notes[0]
    partial = schema.encode({"x": table["x"]})
    assert partial.observed.all(0).tolist() == [True, False, False]
    assert "no column 'y', 'z': missing in every row" in partial.notes[0]
    assert not straight.notes
    with pytest.raises(DataError, match="none of the columns"):
        schema.encode({"w": [1, 2]})


def test_another_value_of_a_constant_is_said():
    schema = infer_schema({"x": ["k"] * 4, "y": [0, 1, 0, 1]})
    assert "1 of 2 cells are not 'k'" in schema.encode({"x": ["k", "j"], "y": [0, 1]}).notes[0]
    assert schema.decode([[1]], 0)["x"].values.tolist() == ["k"]


def test_a_level_by_a_markers_name_can_be_given():
    table = {"x": ["None", "low", "high"] * 4, "y": [0, 1, 1] * 4}
    choice = {"x": {"kind": "ordinal", "levels": ["None", "low", "high"]}}
    schema = infer_schema(table, choice)
    assert schema.columns[0].missing == 0.0
    assert schema.encode(table).codes[:3, 0].tolist() == [0, 1, 2]


def test_numbers_and_truth_match_whatever_they_are_written_as():
    bits = infer_schema({"x": [0, 1] * 5})
    for same in (["0", "1"], ["0.0", "1.0"], [False, True], [0.0, 1.0]):
        assert bits.encode({"x": same}).bits.ravel().tolist() == [0, 1]
    truth = infer_schema({"x": ["False", "True"] * 5})
    for same in ([False, True], ["False", "True"]):
        assert truth.encode({"x": same}).bits.ravel().tolist() == [0, 1]
    frame = infer_schema({"x": [False, True] * 5})
    for same in (["FALSE", "true"], [0, 1], ["0", "1"]):
        assert frame.encode({"x": same}).bits.ravel().tolist() == [0, 1]


def test_impossible_bits_are_refused():
    schema = infer_schema({"x": ["a", "b", "c"] * 5})
    with pytest.raises(UsageError, match="row 2 of the bits has 2 levels of column 'x'"):
        schema.decode([[1, 0, 0], [1, 1, 0]], 0)
    with pytest.raises(UsageError, match="rows have 3 units"):
        schema.decode([[1, 0]], 0)
    assert schema.decode([[0, 0, 0]], 0, [[False]])["x"].missing.all()


def test_the_frame_that_was_read_is_not_read_again():
    frame = read_frame({"x": [1, 2]})
    assert read_frame(frame) is frame
