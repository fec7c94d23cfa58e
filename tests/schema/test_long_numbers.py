"""Whole numbers of more digits than a float has are never changed; nor do huge ones make noise."""

import warnings

import numpy as np
import pandas as pd
import pytest

from wakesleep.errors import UsageError
from wakesleep.schema import impute_missing, infer_schema, read_frame, to_native

ROWS = 60
LONG = 2**53
LARGEST = 2**63 - 1
PARTS = np.arange(ROWS) % 2


def frame(start, several):
    return pd.DataFrame({"key": start - np.arange(ROWS) % several, "part": PARTS})


@pytest.mark.parametrize("start", [LONG + 9, LARGEST])
@pytest.mark.parametrize("in_text", [False, True])
def test_they_are_left_out_and_kept_as_levels(start, in_text):
    table = frame(np.int64(start), 5)
    table = table.astype({"key": str}) if in_text else table
    (left_out, _) = infer_schema(table).columns
    assert left_out.states == 0
    assert "--column key=categorical keeps it" in left_out.note
    schema = infer_schema(table, {"key": "categorical"})
    assert schema.columns[0].states == 5
    again = to_native(schema.decode(schema.encode(table).bits, 0), like=table)
    assert again["key"].tolist() == table["key"].tolist()


@pytest.mark.parametrize("several", [1, 2])
def test_one_or_two_of_them_are_exact(several):
    table = frame(np.int64(LARGEST), several).astype({"key": "Int64"})
    table.loc[[3, 8], "key"] = pd.NA
    schema = infer_schema(table)
    bits = schema.encode(table.dropna()).bits
    drawn = schema.decode(np.resize(bits, (ROWS, bits.shape[1])), 0)
    filled = to_native(impute_missing(read_frame(table), drawn), like=table)
    known = table["key"].notna()
    assert filled["key"][known].tolist() == table["key"][known].tolist()
    assert set(filled["key"].dropna()) == set(table["key"].dropna())


def test_a_number_column_would_not_keep_them_apart():
    with pytest.raises(UsageError, match=r"too many digits.*key=categorical"):
        infer_schema(frame(np.int64(LARGEST), 5), {"key": "numeric"})


def test_numbers_whose_squares_overflow_are_no_noise():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=ROWS), "b": rng.normal(size=ROWS)})
    table.loc[0, "a"], table.loc[1, "b"] = 1e308, -1e308
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema = infer_schema(table)
        codes = schema.encode(table)
    assert schema.within is None
    assert np.isfinite(schema.row_measure(codes)).all()


def test_sparse_columns_are_what_is_in_them():
    flags = pd.arrays.SparseArray(PARTS)
    numbers = pd.arrays.SparseArray(np.where(PARTS, np.linspace(1, 2, ROWS), 0.0))
    table = pd.DataFrame({"flag": flags, "number": numbers})
    schema = infer_schema(table)
    assert [column.kind for column in schema.columns] == ["binary", "numeric"]
    again = to_native(schema.decode(schema.encode(table).bits, 0), like=table)
    assert again["flag"].tolist() == PARTS.tolist()
