"""Columns as features: numbers standardised, gaps by what is expected of them."""

import numpy as np
import pandas as pd
import pytest

from wakesleep.schema import SchemaOptions, expected_columns, expected_names, infer_schema


def table(rows=400):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(50, 8, rows),
            "kind": rng.choice(["a", "b", "c"], rows),
            "answer": rng.choice(["yes", "no"], rows),
            "bit": rng.integers(0, 2, rows),
        }
    )


def test_observed_cells_are_themselves():
    frame = table()
    schema = infer_schema(frame)
    encoded = schema.encode(frame)
    found = expected_columns(schema, encoded.bits, encoded.within)
    features = pd.DataFrame(found, columns=expected_names(schema))
    assert list(features) == ["size", "kind=a", "kind=b", "kind=c", "answer=yes", "bit"]
    standardised = (frame["size"] - frame["size"].mean()) / frame["size"].std()
    assert np.corrcoef(features["size"], frame["size"])[0, 1] == pytest.approx(1)
    # Bins do not know how thin their ends are.
    np.testing.assert_allclose(features["size"], standardised, rtol=0.2, atol=0.1)
    for level in "abc":
        assert (features[f"kind={level}"] == (frame["kind"] == level)).all()
    assert (features["answer=yes"] == (frame["answer"] == "yes")).all()
    assert (features["bit"] == frame["bit"]).all()


def test_missing_cells_are_expected_by_their_probabilities():
    frame = table()
    schema = infer_schema(frame, {"size": {"bins": 4}})
    bins = schema.modelled[0].bins
    encoded = schema.encode(frame.head(1).assign(size=np.nan))
    chances = np.array([[0.1, 0.2, 0.3, 0.4, 0.5, 0.25, 0.25, 0.9, 0.0]])
    found = expected_columns(schema, chances, encoded.within)[0]
    assert found[1:].tolist() == chances[0, 4:].tolist()
    # The same as the mean of rows whose numbers are in the middles of the bins.
    middles = (bins.lower + bins.upper) / 2
    rows = schema.encode(pd.concat([frame.head(1)] * 4).assign(size=middles))
    each = expected_columns(schema, rows.bits, rows.within)[:, 0]
    assert found[0] == pytest.approx(chances[0, :4] @ each, abs=0.01)


def test_missing_as_a_level_is_a_feature_of_its_own():
    frame = table()
    frame.loc[::3, "size"] = np.nan
    frame.loc[::5, "answer"] = None
    schema = infer_schema(frame, options=SchemaOptions(missing="level"))
    encoded = schema.encode(frame)
    found = expected_columns(schema, encoded.bits, encoded.within)
    features = pd.DataFrame(found, columns=expected_names(schema))
    assert (features["size=missing"] == frame["size"].isna()).all()
    assert (features["answer=missing"] == frame["answer"].isna()).all()
    assert (features["size"][::3] == 0).all()
    assert not np.isnan(found).any()
