"""Typical columns: what is odd stays odd, even if rows like it were among those of training."""

import numpy as np
import pandas as pd
import pytest

from wakesleep.errors import DataError
from wakesleep.schema import IndependentColumns, Schema, infer_schema
from wakesleep.schema.independent import PSEUDO_COUNT
from wakesleep.schema.typical import TYPICAL


def people(rows: int, odd: int, seed: int = 0) -> pd.DataFrame:
    """Of two heights that follow each other, a colour and a sum that is often zero; odd ones last.

    There are enough odd ones for a density to have a place for them.
    """
    rng = np.random.default_rng(seed)
    height = np.r_[rng.normal(170, 8, rows - odd), rng.normal(230, 16, odd)]
    paid = np.where(rng.random(rows) < 0.3, 0.0, rng.gamma(2.0, 50.0, rows))
    return pd.DataFrame(
        {
            "height": height,
            "reach": height + rng.normal(0, 2, rows),
            "colour": np.r_[rng.choice(["red", "blue"], rows - odd), ["grey"] * odd],
            "paid": np.where(rng.random(rows) < 0.1, np.nan, paid),
        }
    )


def test_levels_are_counted_in_the_least_odd_rows_alone():
    # 8 of 10 rows are a or b; the rarest, c and d, are the odd fifth.
    colour = ["a"] * 5 + ["b"] * 3 + ["c", "d"]
    schema = infer_schema({"colour": colour, "same": ["x", "y"] * 5}, ["colour=categorical"])
    assert schema.typical is not None
    assert TYPICAL == 0.8
    expected = np.array([5, 3, 0, 0]) + PSEUDO_COUNT
    found = np.exp(schema.typical.columns.log_probabilities[0])
    np.testing.assert_allclose(found, expected / expected.sum())


def test_a_typical_row_has_a_density_in_the_tables_units():
    frame = people(400, 0)[["height"]]
    schema = infer_schema(frame)
    grid = np.linspace(-400, 800, 240_001)
    rows = schema.encode(pd.DataFrame({"height": grid}))
    assert schema.typical is not None
    density = np.exp(schema.typical.log_prob(rows))
    assert np.trapezoid(density, grid) == pytest.approx(1, abs=1e-3)


def test_rows_like_odd_ones_of_the_training_are_odd():
    """A tenth of the rows are; a model that knows them well adds nothing."""
    schema = infer_schema(people(600, 60))
    new = schema.encode(people(300, 30, seed=1))
    odd = np.arange(300) >= 270
    found = schema.oddity(new, np.zeros(300))
    assert (found[odd][:, None] > found[~odd]).mean() > 0.98
    columns = IndependentColumns.fit(schema.encode(people(600, 60)).codes, schema.states)
    untrimmed = -columns.log_prob(new.codes) - schema.log_measure(new).sum(axis=1)
    assert (untrimmed[odd][:, None] > untrimmed[~odd]).mean() < 0.95
    # The mean of two surprises.
    np.testing.assert_allclose(schema.oddity(new, np.full(300, -4.0)) - found, 2.0)


def test_atoms_keep_their_probability_and_missing_cells_add_nothing():
    schema = infer_schema(people(400, 0))
    typical = schema.typical
    assert typical is not None
    paid = schema.names.index("paid")
    own = typical.bins[paid]
    assert own is not None
    assert list(own.atoms) == [0.0]
    one = {"height": [170.0] * 2, "reach": [170.0] * 2, "colour": ["red"] * 2, "paid": [0.0, None]}
    zero, gap = typical.log_prob(schema.encode(pd.DataFrame(one)))
    assert zero - gap == pytest.approx(typical.columns.log_probabilities[paid][len(own.lower)])


def test_a_stored_schema_knows_typical_columns_and_an_earlier_one_does_without():
    frame = people(200, 14)
    schema = infer_schema(frame)
    again = Schema.from_dict(schema.to_dict())
    rows = schema.encode(frame)
    scores = np.linspace(-9, -1, 200)
    np.testing.assert_array_equal(again.oddity(rows, scores), schema.oddity(rows, scores))
    before = {name: value for name, value in schema.to_dict().items() if name != "typical"}
    np.testing.assert_array_equal(Schema.from_dict(before).oddity(rows, scores), -scores)


@pytest.mark.parametrize("part", ["bins", "columns"])
def test_typical_columns_of_another_table_are_refused(part):
    values = infer_schema(people(100, 7)).to_dict()
    values["typical"][part] = values["typical"][part][:-1]
    with pytest.raises(DataError, match="typical"):
        Schema.from_dict(values, "schema.json")
