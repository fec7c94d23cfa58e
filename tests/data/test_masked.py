"""Tables with a schema as data sets: bits in groups, and what was observed of them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from wakesleep.data import MaskedBits, PackedBits, load_dataset
from wakesleep.errors import DataError, UsageError

GROUPS = (1, 3, 2)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "answer": rng.choice(["yes", "no"], 60),
            "colour": rng.choice(["red", "green", "blue"], 60),
            "size": rng.normal(size=60).round(2),
        }
    )
    table.loc[::7, "colour"] = None
    table.loc[::9, "size"] = np.nan
    return table


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    observed = rng.random((50, 3)) < 0.7
    bits = (rng.random((50, 6)) < 0.4) * np.repeat(observed, GROUPS, axis=1)
    return MaskedBits.pack(bits, observed, GROUPS), bits, observed


def test_rows_and_what_was_observed_go_together(table):
    masked, bits, observed = table
    rows = np.array([3, 0, 3, 49])
    taken = masked.take(rows)
    assert np.array_equal(taken[:], bits[rows])
    assert np.array_equal(taken.observed[:], observed[rows])
    stored = masked.epoch_rows(rows, 0, 0)
    assert np.array_equal(np.unpackbits(stored["bits"], axis=1, count=6), bits[rows])
    assert np.array_equal(np.unpackbits(stored["observed"], axis=1, count=3), observed[rows])
    assert masked.row_bytes == sum(leaf.shape[1] for leaf in stored.values())


def test_means_are_over_observed_rows(table):
    masked, bits, observed = table
    seen = np.repeat(observed, GROUPS, axis=1)
    expected = [bits[seen[:, unit], unit].mean() for unit in range(6)]
    assert np.allclose(masked.mean(), expected)
    smoothed = (bits.sum(0) + 1) / (seen.sum(0) + 2)
    assert np.allclose(masked.smoothed_mean(), smoothed)


def test_content_tells_a_missing_group_from_zeros(table):
    masked, bits, observed = table
    all_seen = MaskedBits.pack(bits, np.ones_like(observed), GROUPS)
    assert b"".join(masked.content()) != b"".join(all_seen.content())


def test_groups_must_fit(table):
    masked, _, _ = table
    with pytest.raises(DataError, match="groups of 5 units"):
        MaskedBits(masked.bits, masked.observed, (1, 2, 2))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_a_frame_is_a_data_set(frame, library):
    data = load_dataset(library(frame))
    assert [len(rows) for rows in data.splits.values()] == [48, 6, 6]
    assert data.masked
    assert data.groups == data.schema.groups
    assert sum(data.groups) == data.features == data.train.features
    assert "answer (binary), colour (categorical), size (numeric)" in repr(data)


def test_the_schema_is_of_the_training_rows_alone(frame):
    far = frame.copy()
    held_out = load_dataset(frame).table.numbers["test"] - 1
    far.loc[held_out, "size"] = 1e6
    far.loc[held_out, "colour"] = "violet"
    data = load_dataset(far)
    assert data.schema.to_dict() == load_dataset(frame).schema.to_dict()
    assert np.isfinite(data.table.log_measure["test"]).all()
    assert not data.test.observed[:][:, 1].any()
    assert any("unseen in training" in note for note in data.table.notes)


def test_row_numbers_are_those_of_the_file(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False, sep=";")
    data = load_dataset(tmp_path / "a.csv")
    assert sorted(np.concatenate(list(data.table.numbers.values()))) == list(range(1, 61))
    for name, rows in data.splits.items():
        answers = frame["answer"].to_numpy()[data.table.numbers[name] - 1]
        levels = data.schema.columns[0].levels
        assert np.array_equal(rows[:][:, 0] == 1, answers == levels[1])


def test_splits_by_name_of_column(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame[["size", "answer", "colour"]].to_csv(tmp_path / "b.csv", index=False)
    data = load_dataset({"train": tmp_path / "a.csv", "test": tmp_path / "b.csv"})
    assert np.array_equal(data.train[:], data.test[:])
    assert not len(data.valid)


@pytest.mark.parametrize("header", ["", "a,b,c,d\n"])
def test_files_of_bits_are_what_they_were(tmp_path, header):
    bits = (np.random.default_rng(2).random((40, 4)) < 0.5).astype(int)
    bits[:, 2] = 0
    text = "\n".join(",".join(map(str, row)) for row in bits)
    (tmp_path / "a.csv").write_text(header + text + "\n")
    np.save(tmp_path / "a.npy", bits)
    data, plain = load_dataset(tmp_path / "a.csv"), load_dataset(tmp_path / "a.npy")
    for name in data.splits:
        assert isinstance(data.splits[name], PackedBits)
        assert np.array_equal(data.splits[name].rows, plain.splits[name].rows)
    assert data.groups is None
    assert not data.masked
    assert (data.schema is not None) == bool(header)
    if data.schema:
        assert data.schema.names == ("a", "b", "c", "d")


def test_bits_by_name_where_the_files_have_another_order(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n0,1\n1,1\n0,0\n")
    (tmp_path / "b.csv").write_text("b,a\n1,0\n1,1\n0,0\n")
    data = load_dataset({"train": tmp_path / "a.csv", "test": tmp_path / "b.csv"})
    assert np.array_equal(data.train[:], data.test[:])


def test_what_is_said_of_columns_makes_a_table(tmp_path):
    (tmp_path / "a.csv").write_text("0,1\n1,2\n0,3\n1,1\n0,2\n")
    with pytest.raises(DataError, match="--no-header"):
        load_dataset(tmp_path / "a.csv", split=None)
    data = load_dataset(
        tmp_path / "a.csv",
        split=None,
        table={"header": False},
        columns={"column_2": "categorical"},
    )
    assert data.groups == (1, 3)
    with pytest.raises(UsageError, match="neither binarised"):
        load_dataset(tmp_path / "a.csv", table={"header": False}, binarise="dynamic")
