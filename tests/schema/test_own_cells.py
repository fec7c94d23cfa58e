"""Cells that were there go out as they came in, also of types that no column can be made of."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from wakesleep.schema import impute_missing, infer_schema, read_frame, to_native, write_frame
from wakesleep.schema.frame import stacked

ROWS = 12
LARGE = [Decimal("12345678901234567.25") + row for row in range(ROWS)]


def odd_polars():
    return pl.DataFrame(
        {
            "answer": ["a", " b ", None] * 4,
            "large": pl.Series(LARGE, dtype=pl.Decimal(30, 2)),
            "fine": pl.Series(range(ROWS)).cast(pl.Datetime("ns")),
            "key": pl.Series([2**63 + row for row in range(ROWS)], dtype=pl.UInt64),
            "lasted": [dt.timedelta(minutes=row) for row in range(ROWS)],
            "list": [[1, 2]] * ROWS,
            "record": [{"a": row} for row in range(ROWS)],
        }
    )


def odd_pandas():
    table = pd.DataFrame(
        {
            "answer": ["a", " b ", None] * 4,
            "mixed": [1, "two", 3.5, None] * 3,
            "fine": pd.to_datetime(np.arange(ROWS)),
            "key": np.array([2**63 + row for row in range(ROWS)], np.uint64),
            "lasted": pd.to_timedelta(np.arange(ROWS), "h"),
            "list": [[1, 2]] * ROWS,
            "month": pd.period_range("2020-01", periods=ROWS, freq="M"),
        }
    )
    return table.set_index(pd.Index(["same"] * ROWS, name="who"))


def imputed(table):
    """The table with the first level of a column wherever a cell is missing."""
    schema, frame = infer_schema(table), read_frame(table)
    encoded = schema.encode(frame)
    bits, start = encoded.bits.copy(), 0
    for group, size in enumerate(schema.groups):
        bits[~encoded.observed[:, group], start] = 1
        start += size
    return impute_missing(frame, schema.decode(bits, 0))


@pytest.mark.parametrize("library", ["polars", "arrow"])
def test_an_imputed_frame_has_its_other_cells_as_they_were(library):
    table = odd_polars() if library == "polars" else odd_polars().to_arrow()
    out = to_native(imputed(table))
    assert out.schema == table.schema
    before, after = pl.DataFrame(table), pl.DataFrame(out)
    assert after.drop("answer").equals(before.drop("answer"))
    assert after["answer"].to_list() == ["a", " b ", after["answer"][2]] * 4
    assert after["answer"][2] in ("a", "b")


def test_an_imputed_pandas_frame_has_its_other_cells_as_they_were():
    table = odd_pandas()
    out = to_native(imputed(table))
    rest = table.columns.drop(["answer", "mixed"])
    pd.testing.assert_frame_equal(out[rest], table[rest])
    assert out.index.equals(table.index)
    there = table["mixed"].notna().to_numpy()
    assert out["mixed"][there].tolist() == table["mixed"][there].tolist()
    # A level that is imputed is of the type that it has elsewhere in the column.
    assert set(out["mixed"][~there]) <= {1, "two", 3.5}


def test_identifiers_beyond_64_bits_stay_apart():
    assert infer_schema(odd_polars()).columns[3].kind == "identifier"
    assert read_frame(odd_pandas())["key"].values[1] == str(2**63 + 1)


def test_cells_of_no_known_type_are_written_by_their_words(tmp_path):
    frame = read_frame(odd_polars())
    write_frame(frame, tmp_path / "odd.csv")
    again = read_frame(tmp_path / "odd.csv")
    assert again["lasted"].values[3] == "0:03:00"
    assert again["list"].values[0] == "[1, 2]"
    assert again["key"].values[1] == str(2**63 + 1)
    write_frame(stacked([frame, frame], "draw"), tmp_path / "odd.parquet")
    assert pl.read_parquet(tmp_path / "odd.parquet")["lasted"][15] == "0:03:00"


def test_some_rows_are_not_all_of_the_library_s():
    frame = read_frame(odd_polars()).take([2, 0])
    assert to_native(frame, "polars")["answer"].to_list() == [None, "a"]
