"""The package's functions on tables, and seeds in place of keys."""

import jax
import numpy as np
import pandas as pd
import polars as pl
import pytest

import wakesleep as ws
from tests.models.groups import independent_log_prob
from wakesleep.data import MaskedBits, PackedBits
from wakesleep.keys import as_key

FRAME = pd.DataFrame(
    {
        "answer": ["yes", "no", None] * 12,
        "size": np.random.default_rng(0).normal(size=36).round(2),
    }
)


@pytest.fixture(scope="module")
def result():
    data = ws.load_dataset(FRAME, split=None)
    return ws.fit("sbn/sbn 2", data, ws.Recipe(epochs=1), progress=False)


def test_a_seed_is_its_key():
    assert as_key(np.int64(7)) == as_key(7) == jax.random.key(7)
    assert as_key(jax.random.key(7)) == jax.random.key(7)
    for wrong in (-1, 0.5, "0", True, None):
        with pytest.raises(ws.UsageError, match="whole number"):
            as_key(wrong)


def test_a_number_of_rows_is_a_count(result):
    for model in (result.table_model, result.model):
        assert len(ws.sample(model, 0, key=0)) == 0
        with pytest.raises(ws.UsageError, match="n is -1, but it must be a count of rows"):
            ws.sample(model, -1, key=0)


def test_a_table_s_likelihood_is_in_its_units(result):
    complete, schema = FRAME.dropna(), result.schema
    alone = ws.initial_model("sbn", ws.load_dataset(FRAME, split=None))
    encoded = schema.encode(complete)
    found = ws.log_likelihood(ws.TableModel(alone, schema), complete, key=0)
    expected = independent_log_prob(alone.p[0].b, schema.groups, encoded.bits)
    np.testing.assert_allclose(found.values, expected + schema.row_measure(encoded), rtol=1e-4)


def test_seeds_give_what_their_keys_give(result):
    scores = [
        ws.log_likelihood(result.table_model, FRAME, 20, key=key).values
        for key in (5, jax.random.key(5))
    ]
    assert np.array_equal(*scores)


def test_samples_and_imputations_are_frames(result):
    drawn = ws.sample(result.table_model, 5, key=0, like=FRAME)
    assert drawn.dtypes.to_dict() == FRAME.dtypes.to_dict()
    pd.testing.assert_frame_equal(drawn, ws.sample(result.table_model, 5, key=0))
    polars = pl.from_pandas(FRAME)
    assert isinstance(ws.sample(result.table_model, 5, key=0, like=polars), pl.DataFrame)
    imputed = ws.impute(result.table_model, polars, key=0)
    assert imputed.schema == polars.schema
    assert imputed["answer"].null_count() == 0
    with pytest.raises(ws.UsageError, match="leave `missing` out"):
        ws.impute(result.table_model, FRAME, np.zeros((36, 2), bool), key=0)


def test_samples_under_conditions_keep_them_and_are_frames_like_the_others(result):
    table, polars = result.table_model, pl.from_pandas(FRAME)
    for given in ("answer=yes,size=-0.5..0.5", {"answer": "yes", "size": (-0.5, 0.5)}):
        drawn = ws.sample(table, 4, key=0, like=polars, given=given)
        assert isinstance(drawn, pl.DataFrame)
        assert set(drawn["answer"]) == {"yes"}
        assert drawn["size"].is_between(-0.5, 0.5).all()
    with pytest.raises(ws.UsageError, match="names columns of a table"):
        ws.sample(table.model, 2, key=0, given="answer=yes")


def test_bits_have_no_table_model():
    data = ws.load_dataset("bars", size=2, train=20, valid=0, test=0)
    result = ws.fit("sbn/sbn 2", data, ws.Recipe(epochs=1), progress=False)
    assert result.schema is None
    with pytest.raises(ws.UsageError, match="trained on bits"):
        _ = result.table_model


def test_what_is_printed_is_shapes_and_columns_not_bytes(result):
    bits = PackedBits.pack(np.eye(3))
    assert repr(bits) == "PackedBits(3 rows of 3 bits)"
    masked = MaskedBits(bits, PackedBits.pack(np.ones((3, 2))), (1, 2))
    assert repr(masked) == "MaskedBits(3 rows of 3 bits in 2 groups, 0 of them missing)"
    columns = "columns answer (binary), size (numeric)"
    data = ws.load_dataset(FRAME, split=None)
    for thing in (data, data.schema, data.table, result.table_model):
        assert columns in repr(thing)
        assert "array" not in repr(thing)
