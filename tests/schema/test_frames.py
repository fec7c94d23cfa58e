"""pandas, polars and Arrow in and out: names, types, index and gaps kept."""

import datetime as dt

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from wakesleep.errors import DataError, UsageError
from wakesleep.schema import impute_missing, infer_schema, read_frame, to_native

ROWS = 48
RNG = np.random.default_rng(5)


def some(values, gaps=True):
    listed = [values[i % len(values)] for i in range(ROWS)]
    return [None if gaps and i % 7 == 3 else value for i, value in enumerate(listed)]


DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=9 * i) for i in range(17)]
MOMENTS = [dt.datetime(2020, 1, 1, 12) + dt.timedelta(hours=7 * i) for i in range(17)]


def polars_table():
    return pl.DataFrame(
        {
            "whole": some([1, 5, 8, 2, 100]),
            "short": pl.Series(some([1, 2, 3], gaps=False), dtype=pl.Int8),
            "real": some([1.25, 2.5, 3.75, 8.0]),
            "single": pl.Series(some([0.1, 0.2, 0.4]), dtype=pl.Float32),
            "truth": some([True, False]),
            "text": some(["b", "a", "ç"]),
            "levels": pl.Series(some(["x", "y", "z"]), dtype=pl.Categorical),
            "enum": pl.Series(some(["x", "y", "z"]), dtype=pl.Enum(["z", "y", "x", "w"])),
            "day": some(DAYS),
            "moment": pl.Series(some(MOMENTS), dtype=pl.Datetime("ms")),
            "zoned": pl.Series(some(MOMENTS), dtype=pl.Datetime("us")).dt.replace_time_zone(
                "Europe/Berlin"
            ),
        }
    )


def pandas_table():
    days = pd.Series(pd.to_datetime(some(MOMENTS)))
    table = pd.DataFrame(
        {
            "whole": some([1, 5, 8, 2, 100], gaps=False),
            "short": np.array(some([1, 2, 3], gaps=False), np.int8),
            "nullable": pd.array(some([1, 5, 8]), dtype="Int64"),
            "real": np.array(some([1.25, 2.5, 3.75, 8.0]), float),
            "gapped": np.array(some([1, 2, 9]), float),
            "truth": some([True, False], gaps=False),
            "maybe": pd.array(some([True, False]), dtype="boolean"),
            "text": pd.Series(some(["b", "a", "ç"]), dtype="str"),
            "object": pd.Series(some(["b", "a", "ç"]), dtype=object),
            "digits": pd.Series(some(["1.50", "2.25", "9.00"]), dtype="str"),
            "levels": pd.Categorical(some(["x", "y", "z"]), categories=["z", "y", "x", "w"]),
            "order": pd.Categorical(
                some(["lo", "hi"]), categories=["lo", "mid", "hi"], ordered=True
            ),
            "numbers": pd.Categorical(some([10, 20, 30])),
            "moment": days,
            "zoned": days.dt.tz_localize("Europe/Berlin"),
        }
    )
    table.index = [f"row {i}" for i in range(ROWS)]
    return table


TABLES = {
    "pandas": pandas_table,
    "polars": polars_table,
    "pyarrow": lambda: polars_table().drop("enum").to_arrow(),
}


@pytest.mark.parametrize("library", TABLES)
def test_a_frame_comes_back_with_names_types_and_gaps(library):
    table = TABLES[library]()
    frame = read_frame(table)
    schema = infer_schema(frame)
    assert all(column.states for column in schema.columns)
    encoded = schema.encode(frame)
    out = to_native(schema.decode(encoded.bits, 0, encoded.observed), like=table)
    assert type(out) is type(table)
    before, after = (nw.from_native(one, eager_only=True) for one in (table, out))
    assert before.schema == after.schema
    np.testing.assert_array_equal(schema.encode(out).codes, encoded.codes)
    for name in before.columns:
        assert before[name].is_null().to_list() == after[name].is_null().to_list()
        if schema.columns[schema.names.index(name)].kind in ("binary", "categorical", "ordinal"):
            assert before[name].cast(nw.String).to_list() == after[name].cast(nw.String).to_list()


def test_pandas_types_and_index_are_the_very_same():
    table = pandas_table()
    schema = infer_schema(table)
    encoded = schema.encode(table)
    out = to_native(schema.decode(encoded.bits, 0, encoded.observed), like=table)
    pd.testing.assert_series_equal(out.dtypes, table.dtypes)
    pd.testing.assert_index_equal(out.index, table.index)
    assert schema.columns[schema.names.index("order")].levels == ("lo", "mid", "hi")
    fewer = to_native(schema.decode(encoded.bits[:3], 0), like=table)
    assert list(fewer.index) == list(range(3))


def test_all_libraries_read_alike():
    table = polars_table().drop("enum", "single")
    schema = infer_schema(table)
    bits = schema.encode(table).bits
    for other in (
        table.to_arrow(),
        table.to_pandas(),
        table.to_pandas(use_pyarrow_extension_array=True),
    ):
        np.testing.assert_array_equal(schema.encode(other).bits, bits)


@pytest.mark.parametrize("library", TABLES)
def test_decimals_and_whole_numbers_are_kept(library):
    table = TABLES[library]()
    schema = infer_schema(table)
    encoded = schema.encode(table)
    many, seen = (np.repeat(one, 40, axis=0) for one in (encoded.bits, encoded.observed))
    drawn = schema.decode(many, 0, seen, tails=True)
    out = nw.from_native(to_native(drawn, like=table), eager_only=True)
    reals = out["real"].drop_nulls().to_numpy()
    np.testing.assert_array_equal(np.round(reals, 2), reals)
    assert len(np.unique(reals)) > 4
    if library == "pandas":
        assert all(
            len(text.partition(".")[2]) == 2 for text in out["digits"].drop_nulls().to_list()
        )


def test_a_text_table_trains_and_a_frame_is_scored(tmp_path):
    table = polars_table().select("whole", "real", "truth", "text", "day")
    table.write_csv(tmp_path / "table.csv")
    schema = infer_schema(tmp_path / "table.csv")
    assert [column.storage for column in schema.columns] == [
        "whole",
        "real",
        "text",
        "text",
        "date",
    ]
    from_file = schema.encode(tmp_path / "table.csv")
    np.testing.assert_array_equal(from_file.bits, schema.encode(table).bits)
    drawn = schema.decode(from_file.bits, 0, from_file.observed)
    assert to_native(drawn, like="polars").schema["whole"] == pl.Int64
    assert to_native(drawn, like="pandas")["day"].dtype.kind == "M"
    assert to_native(drawn, like="pyarrow").num_rows == ROWS


@pytest.mark.parametrize("library", TABLES)
def test_gaps_are_filled_and_nothing_else_is_touched(library):
    table = TABLES[library]()
    frame = read_frame(table)
    schema = infer_schema(frame, ["real=drop"])
    encoded = schema.encode(frame)
    guess = np.where(encoded.observed, encoded.codes, 0)
    full = type(encoded)(guess.astype(np.int32), encoded.within, encoded.states)
    filled = impute_missing(frame, schema.decode(full.bits, 0))
    out = to_native(filled)
    before, after = (nw.from_native(one, eager_only=True) for one in (table, out))
    assert after.schema == before.schema
    for name in before.columns:
        gaps = before[name].is_null().to_list()
        known, kept = (
            [v for v, gap in zip(one[name].to_list(), gaps, strict=True) if not gap]
            for one in (before, after)
        )
        assert kept == known
        assert after[name].is_null().any() == (name == "real")


def test_rows_keep_their_index_and_lines_when_they_are_split(tmp_path):
    table = pandas_table()
    part = read_frame(table).take([5, 2])
    assert list(to_native(part).index) == ["row 5", "row 2"]
    assert to_native(part)["whole"].tolist() == table["whole"].iloc[[5, 2]].tolist()
    assert part.place(0, "whole") == "the frame, row 6, column 'whole'"
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n5,6\n")
    assert read_frame(tmp_path / "a.csv").take([2]).place(0, "x").endswith("line 4, column 'x'")


def test_other_goes_out_as_a_level_of_its_own():
    values = [f"l{i}" for i in range(8) for _ in range(9 - i)]
    table = pd.DataFrame({"x": pd.Categorical(values)})
    from wakesleep.schema import SchemaOptions

    schema = infer_schema(table, options=SchemaOptions(max_levels=4))
    encoded = schema.encode(table)
    out = to_native(schema.decode(encoded.bits, 0), like=table)
    assert set(out["x"]) == {"l0", "l1", "l2", "other"}
    np.testing.assert_array_equal(schema.encode(out).codes, encoded.codes)


def test_objects_arrays_and_what_cannot_be():
    mixed = read_frame({"x": [1, "a", None, 2.5]})
    assert mixed["x"].values.tolist() == ["1", "a", "", "2.5"]
    assert read_frame(np.array([["a", None], ["b", 1]], object)).names == ("x0", "x1")
    assert read_frame(np.array([[True], [False]]))["x0"].storage == "boolean"
    with pytest.raises(DataError, match="collect"):
        read_frame(polars_table().lazy())
    with pytest.raises(DataError, match="which is no text"):
        read_frame(pd.DataFrame({0: [1, 2]}))
    with pytest.raises(DataError, match="two columns called 'a'"):
        read_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(UsageError, match="no frame library is called 'numpy'"):
        to_native(mixed, like="numpy")


def test_gaps_are_the_same_gaps_in_every_library():
    """NaN and NA of pandas, null of polars: the same cells are missing, the others the same."""
    values = {"age": [30, None, 41, 25, 30, 41] * 5, "city": ["a", "b", None, "c", "a", "b"] * 5}
    nan = pd.DataFrame({"age": np.array(values["age"], float), "city": values["city"]})
    nullable = pd.DataFrame(
        {"age": pd.array(values["age"], "Int64"), "city": pd.array(values["city"], "string")}
    )
    schema = infer_schema(nan)
    expected = schema.encode(nan)
    assert (~expected.observed).sum() == 10
    for table in (nullable, pl.DataFrame(values)):
        encoded = schema.encode(table)
        assert np.array_equal(encoded.codes, expected.codes)
        assert np.array_equal(encoded.within, expected.within, equal_nan=True)
