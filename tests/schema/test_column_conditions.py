"""Conditions as people write them, and numbers drawn within ranges."""

import numpy as np
import pandas as pd
import pytest

from wakesleep.errors import UsageError
from wakesleep.schema import allowed_states, decode_given, infer_schema, parse_given
from wakesleep.schema.bin_ranges import Range, draw_within, shares

COUNT = 40_000


@pytest.fixture(scope="module")
def schema():
    rng = np.random.default_rng(0)
    rows = 400
    table = pd.DataFrame(
        {
            "person": [f"p{number:04d}" for number in range(rows)],
            "region": rng.choice(["north", "south", "east"], rows),
            "grade": rng.choice(["low", "middle", "high"], rows),
            "age": rng.integers(18, 90, rows),
            "height": rng.normal(1.7, 0.1, rows).round(2),
            "income": np.where(rng.random(rows) < 0.3, 0.0, rng.lognormal(size=rows)),
            "seen": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 90, rows), "D"),
            "note": rng.choice(["yes", None], rows),
        }
    )
    table.loc[::7, "region"] = None
    kinds = {
        "grade": {"kind": "ordinal", "levels": ["low", "middle", "high"]},
        "region": {"kind": "categorical", "missing": "level"},
    }
    return infer_schema(table, kinds)


def column(schema, name):
    return schema.modelled[schema.names.index(name)]


def shares_of(schema, given):
    (one,) = parse_given(schema, given)
    return one.shares


def test_levels_ranges_of_an_order_and_missing_cells(schema):
    levels = column(schema, "region").levels
    expected = [float(level in ("north", "east")) for level in levels]
    assert shares_of(schema, "region=north|east").tolist() == [*expected, 0]
    assert shares_of(schema, {"region": ["north", "east", None]}).tolist() == [*expected, 1]
    assert shares_of(schema, "region=missing").tolist() == [0, 0, 0, 1]
    assert shares_of(schema, "region=not missing").tolist() == [1, 1, 1, 0]
    assert shares_of(schema, "grade=middle..").tolist() == [0, 1, 1]
    assert parse_given(schema, "age=not missing") == ()
    both = parse_given(schema, 'age=30..40, "region=north"')
    assert set(allowed_states(both)) == {schema.names.index("age"), schema.names.index("region")}


def test_a_day_is_one_of_the_column_s_own_offset():
    texts = [f"2021-03-{i % 28 + 1:02d}T{i % 24:02d}:00:00+02:00" for i in range(60)]
    made = infer_schema({"when": texts})
    (day,) = parse_given(made, "when=2021-03-05")
    first = np.datetime64("2021-03-04T22", "h").astype(float)
    assert day.ranges == (Range(first, first + 23),)
    (same,) = parse_given(made, "when=2021-03-04T22:00:00Z..2021-03-05T23:00:00+02:00")
    assert same.ranges == day.ranges


def test_names_and_levels_may_have_signs_of_their_own():
    table = {"a=b": ["x", "y"] * 20, "which": ["p|q", "p", "q", "r=s"] * 10}
    made = infer_schema(table)
    assert shares_of(made, "a=b=x").tolist() == [1, 0]
    levels = np.array(column(made, "which").levels)
    assert levels[shares_of(made, "which=p|q") > 0].tolist() == ["p|q"]
    assert levels[shares_of(made, "which=p|r=s") > 0].tolist() == ["p", "r=s"]
    assert levels[shares_of(made, {"which": np.array(["p", "q"])}) > 0].tolist() == ["p", "q"]


@pytest.mark.parametrize("name", ["age", "height", "income"])
@pytest.mark.parametrize("ends", [(0.3, 1.2), (-np.inf, 1.0), (25.0, np.inf), (1.61, 1.75)])
def test_a_share_is_the_frequency_of_draws_in_the_range(schema, name, ends):
    """Also where a range cuts bins, gaps, tails and grids; draws within it have all of it."""
    bins, rng = column(schema, name).bins, np.random.default_rng(1)
    one = Range(*(np.array(ends) * (40 if name == "age" else 1)))
    exact = shares(bins, [one])
    for state in np.unique(np.linspace(0, bins.states - 1, 7).astype(int)):
        codes = np.full(COUNT, state)
        drawn = bins.draw(codes, rng)
        inside = (drawn >= one.low) & (drawn <= one.high)
        error = np.sqrt(exact[state] * (1 - exact[state]) / COUNT)
        assert abs(inside.mean() - exact[state]) < 4.5 * error + 1e-9
        if exact[state] < 0.01:
            continue
        within = draw_within(bins, codes, [one], rng)
        assert one.low <= within.min() <= within.max() <= one.high
        assert np.array_equal(bins.codes(within), codes)
        # The same distribution as that of free draws which happen to lie in the range.
        kept = drawn[inside]
        spread = kept.std() * np.sqrt(1 / len(kept) + 1 / COUNT)
        assert abs(within.mean() - kept.mean()) < 4.5 * spread + 1e-9


def test_ranges_that_overlap_count_once_and_a_number_is_itself(schema):
    bins, rng = column(schema, "height").bins, np.random.default_rng(2)
    two = [Range(1.5, 1.7), Range(1.6, 1.8)]
    assert np.allclose(shares(bins, two), shares(bins, [Range(1.5, 1.8)]))
    apart = [Range(1.55, 1.56), Range(1.7, 1.72)]
    exact = shares(bins, apart)
    codes = rng.choice(bins.states, 500, p=exact / exact.sum())
    values = draw_within(bins, codes, apart, rng)
    assert set(values) == {1.55, 1.56, 1.7, 1.71, 1.72}
    incomes = column(schema, "income").bins
    point = [Range(0.7312345, 0.7312345)]
    codes = np.flatnonzero(shares(incomes, point))
    assert np.array_equal(draw_within(incomes, codes, point, rng), [0.7312345])
    assert shares(incomes, [Range(0, 0)])[-len(incomes.atoms) :].max() == 1


def test_decoded_rows_keep_to_the_ranges(schema):
    rng = np.random.default_rng(3)
    given = "age=30..33,seen=2020-02-01..2020-02-10,grade=low"
    conditions = parse_given(schema, given)
    codes = np.zeros((300, len(schema.states)), int)
    for one in conditions:
        codes[:, one.group] = rng.choice(len(one.shares), 300, p=one.shares / one.shares.sum())
    from wakesleep.schema.encoded import bits_of

    frame = decode_given(schema, bits_of(codes, schema.states), 0, conditions)
    assert set(frame["age"].values) == {30, 31, 32, 33}
    seen = frame["seen"].values
    assert seen.min() >= np.datetime64("2020-02-01")
    assert seen.max() <= np.datetime64("2020-02-10")
    assert set(frame["grade"].values) == {"low"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "is empty"),
        ("age", "COLUMN=VALUE"),
        ("age=30,age=40", "two conditions on 'age'"),
        ("regoin=north", "did you mean 'region'"),
        ("planet=mars", "it has 'region'"),
        ("person=p0001", "no part of the model"),
        ("region=nort", "did you mean 'north'"),
        ("region=mars", "it has 'east', 'north', 'south'"),
        ("age=old", "needs a number or a range .* bins from 18 to 89"),
        ("age=40..30", "is empty"),
        ("age=..", "needs a number"),
        ("age=90000..", "has no value in"),
        ("seen=yesterday", "needs a date"),
        ("age=missing", "never missing"),
        ({"age": []}, "allows nothing"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(schema, given, said):
    with pytest.raises(UsageError, match=said):
        parse_given(schema, given)
