"""Dates and times as people and libraries write them."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from wakesleep.schema import impute_missing, infer_schema, read_frame, to_native
from wakesleep.schema.temporal import find_pattern, moment_text, parse_moments


@pytest.mark.parametrize(
    ("text", "pattern", "moment"),
    [
        ("2020-03-01T10:05:00+01:00", "%Y-%m-%dT%H:%M:%S+01:00", "2020-03-01T09:05"),
        ("2020-03-01 10:05:00-0330", "%Y-%m-%d %H:%M:%S-0330", "2020-03-01T13:35"),
        ("03/25/2020 04:05 PM", "%m/%d/%Y %I:%M %p", "2020-03-25T16:05"),
        ("03/25/2020 16:05:07", "%m/%d/%Y %H:%M:%S", "2020-03-25T16:05:07"),
        ("03/25/20", "%m/%d/%y", "2020-03-25"),
        ("04:05 PM", "%I:%M %p", "1970-01-01T16:05"),
    ],
)
def test_ways_of_writing_a_moment(text, pattern, moment):
    assert find_pattern([text]) == pattern
    (found,) = parse_moments([text], pattern)
    assert found == np.datetime64(moment)
    assert moment_text(found, pattern) == text


def test_several_offsets_are_one_time_in_utc():
    texts = ["2020-03-28 10:00:00+01:00", "2020-03-30 10:00:00+02:00"]
    pattern = find_pattern(texts)
    found = parse_moments(texts, pattern)
    assert [moment_text(one, pattern) for one in found] == [
        "2020-03-28 09:00:00+00:00",
        "2020-03-30 08:00:00+00:00",
    ]


def test_the_first_and_the_last_day_of_all_are_kept():
    days = [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2020, 5, 5)] * 20
    frame = pd.DataFrame({"day": pd.Series(days, dtype=object)})
    schema = infer_schema(frame)
    out = to_native(schema.decode(schema.encode(frame).bits, 0), like=frame)
    assert out["day"].tolist() == days
    last = np.datetime64("9999-12-31T23:59:59.999999")
    moments = [dt.datetime(2020, 1, 1, i % 24) for i in range(59)] + [last.item()]
    shown = infer_schema({"at": moments}).columns[0].detail()
    assert shown.endswith("to 9999-12-31 23:59:59.999999")


def times(count=48):
    return [None if i % 7 == 3 else dt.time(i % 24, 5 * (i % 3)) for i in range(count)]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_times_of_day_stay_times(library):
    table = pl.DataFrame({"at": times(), "answer": ["yes", "no"] * 24})
    table = table.to_arrow() if library == "pyarrow" else table
    schema = infer_schema(table)
    encoded = schema.encode(table)
    drawn = schema.decode(encoded.bits, 0, encoded.observed)
    for frame in (drawn, impute_missing(read_frame(table), drawn)):
        out = to_native(frame, like=table)
        assert pl.DataFrame(out).schema["at"] == pl.Time
    imputed = impute_missing(read_frame(table), drawn)
    assert pl.DataFrame(to_native(imputed, like=table))["at"].to_list() == times()


def test_objects_of_pandas_come_back_as_they_were():
    zone = dt.timezone(dt.timedelta(hours=2))
    moments = [dt.datetime(2020, 1, 1, 2, tzinfo=zone) + dt.timedelta(hours=i) for i in range(60)]
    columns = {
        "written": [f"2020-01-{i % 28 + 1:02d}" for i in range(60)],
        "day": [dt.date(2020, 1, i % 28 + 1) for i in range(60)],
        "truth": [(True, False, None)[i % 3] for i in range(60)],
    }
    frame = pd.DataFrame({name: pd.Series(one, dtype=object) for name, one in columns.items()})
    schema = infer_schema(frame)
    encoded = schema.encode(frame)
    out = to_native(schema.decode(encoded.bits, 0, encoded.observed), like=frame)
    for name, cells in columns.items():
        assert [type(cell) for cell in out[name]] == [type(cell) for cell in cells]
    (zoned,) = read_frame({"at": moments}).cells
    assert zoned.values[0] == np.datetime64("2020-01-01T00:00")
