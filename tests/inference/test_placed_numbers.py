"""Missing cells given observed numbers, beyond the bins these are in: against the whole density."""

import jax
import numpy as np
import pandas as pd
import pytest

import wakesleep as ws
from wakesleep.inference.imputation import impute
from wakesleep.inference.imputed_table import impute_encoded
from wakesleep.inference.placed_numbers import is_useful, weighed
from wakesleep.inference.posterior import infer_rows
from wakesleep.schema import infer_schema
from wakesleep.schema.point_estimates import state_probabilities

DRAWS = 4000


@pytest.fixture(scope="module")
def table():
    """Two numbers that follow each other closely, in three bins each, and a colour."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=400)
    frame = pd.DataFrame(
        {
            "first": first,
            "second": first + 0.2 * rng.normal(size=400),
            "colour": rng.choice(["red", "blue"], 400),
        }
    )
    schema = infer_schema(frame, {"first": {"bins": 3}, "second": {"bins": 3}})
    assert schema.within is not None
    model = ws.build("sbn", features=schema.units, key=jax.random.key(0), groups=schema.groups)
    return ws.TableModel(model, schema)


def by_the_density(table, row, name, grid):
    """P(bin of the missing number | the rest), by the density of rows that have it all along."""
    rows = pd.DataFrame([row] * len(grid)).assign(**{name: grid})
    read = table.read(rows)
    log_p = infer_rows(table.model, read.rows, 1, jax.random.key(0)).log_likelihood
    density = np.exp(log_p + read.log_measure)
    codes = read.encoded.codes[:, table.schema.names.index(name)]
    mass = np.bincount(codes, density, minlength=3)
    return mass / mass.sum()


@pytest.mark.parametrize("value", [0.05, 0.45, -0.6])
def test_the_probabilities_of_bins_are_those_of_the_whole_density(table, value):
    row = {"first": np.nan, "second": value, "colour": "red"}
    read = table.read(pd.DataFrame([row]))
    schema, encoded = table.schema, read.encoded
    assert is_useful(schema, encoded)
    missing = np.repeat(~encoded.observed, schema.groups, axis=1)
    imputed = impute(table.model, encoded.bits, missing, DRAWS, key=jax.random.key(1), draws=DRAWS)
    found = weighed(schema, encoded, imputed, np.random.default_rng(0))
    own = state_probabilities(found.probabilities[:, : schema.groups[0]])[0]
    before = state_probabilities(imputed.probabilities[:, : schema.groups[0]])[0]
    expected = by_the_density(table, row, "first", np.linspace(-6, 6, 6001))
    np.testing.assert_allclose(own, expected, atol=0.03)
    assert own.argmax() == expected.argmax()
    assert np.abs(before - expected).max() > 0.1
    assert found.draws.shape == (1, 1, schema.units)


def test_complete_rows_and_rows_without_numbers_stay_as_they_were(table):
    rows = pd.DataFrame({"first": [0.1, np.nan], "second": [0.2, np.nan], "colour": ["red", None]})
    encoded = table.read(rows).encoded
    assert not is_useful(table.schema, encoded)


def test_a_number_is_imputed_near_the_one_it_follows(table):
    rows = pd.DataFrame({"first": [np.nan] * 3, "second": [-1.2, 0.0, 1.2], "colour": "red"})
    filled = ws.impute(table, rows, key=0)
    assert np.abs(filled["first"] - rows["second"]).max() < 0.6


@pytest.mark.parametrize("columns", [["second", "colour"], ["colour"]])
def test_as_many_draws_come_back_as_were_asked_for(table, columns):
    """Where numbers weigh the draws, and where there is none that could."""
    row = pd.DataFrame([{"second": 0.4, "colour": "red"}] * 2)[columns]
    read = table.read(row)
    assert is_useful(table.schema, read.encoded) == ("second" in columns)
    found = impute_encoded(table, read.encoded, 200, key=jax.random.key(0), draws=20)
    assert found.draws.shape == (2, 20, table.schema.units)
    assert len(np.unique(found.draws[0], axis=0)) > 1
    seen = np.repeat(read.encoded.observed[0], table.schema.groups)
    assert (found.draws[..., seen] == read.encoded.bits[:, None, seen]).all()
