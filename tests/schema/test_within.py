"""Numbers in their bins: densities that integrate to one, draws that follow them, and storing."""

import dataclasses
import json

import numpy as np
import pytest
from scipy import stats

from wakesleep.errors import DataError
from wakesleep.schema import Schema, SchemaOptions, infer_schema, read_frame, within_fit
from wakesleep.schema.binning import Grid, joined, make_bins
from wakesleep.schema.normal import inverse_normal, log_normal_mass
from wakesleep.schema.powers import Power
from wakesleep.schema.within_fit import fit_within, joined_schema


def placed(rows, choices=None):
    return infer_schema(rows, choices, SchemaOptions(within="gaussian"))


def two_columns(rows, seed=0, decimals=None):
    """One number follows the other closely, in two clusters; a level says nothing."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, rows) + 6 * (rng.random(rows) < 0.4)
    y = 2 * x + rng.normal(0, 0.1, rows)
    columns = {"x": x, "level": rng.choice(list("abc"), rows), "y": y}
    if decimals is not None:
        columns |= {"x": np.round(x, decimals), "y": np.round(y, decimals)}
    return columns


@pytest.fixture(scope="module")
def schema():
    return placed(two_columns(400))


def test_masses_between_two_ends_and_points_in_them_keep_their_digits():
    low = np.array([-1.0, 8.0, -40.0, 2.0, -9.0])
    high = np.array([0.5, 9.0, -39.0, 2.0 + 1e-9, 9.0])
    found = log_normal_mass(low, high)
    plain = np.log(stats.norm.cdf(high[[0, 4]]) - stats.norm.cdf(low[[0, 4]]))
    np.testing.assert_allclose(found[[0, 4]], plain, atol=1e-12)
    np.testing.assert_allclose(found[1], stats.norm.logsf(8.0) + np.log1p(-2e-4), atol=1e-3)
    np.testing.assert_allclose(found[2], stats.norm.logcdf(-39.0), atol=1e-9)
    np.testing.assert_allclose(found[3], stats.norm.logpdf(2.0) + np.log(1e-9), atol=1e-6)
    half = inverse_normal(low, high, np.full(5, 0.5))
    np.testing.assert_allclose(log_normal_mass(low[:3], half[:3]), found[:3] - np.log(2), atol=1e-6)
    assert ((half >= low) & (half <= high)).all()


def skewed_columns(rows, seed=0, decimals=None):
    """Both are as far apart as people's incomes are, and one is nearly a multiple of the other."""
    rng = np.random.default_rng(seed)
    x = 2 * rng.normal(size=rows)
    columns = {"x": 20 * np.exp(x), "y": 50 * np.exp(x + 0.1 * rng.normal(size=rows))}
    return columns if decimals is None else {k: np.round(v, decimals) for k, v in columns.items()}


@pytest.mark.parametrize("decimals", [None, 1, 0])
@pytest.mark.parametrize("columns", [two_columns, skewed_columns])
def test_the_density_of_a_row_integrates_to_one_over_its_bins(columns, decimals):
    made = placed(columns(400, decimals=decimals))
    assert made.within is not None
    assert made.within.is_plain == (columns is two_columns)
    bins = [made.modelled[group].bins for group in made.within.groups]
    k = [min(2, len(one.lower) - 1) for one in bins]
    axes = []
    for one, i in zip(bins, k, strict=True):
        width = one.upper[i] - one.lower[i]
        count = round(width / one.step) if one.step else 700
        axes.append(one.lower[i] + width * (np.arange(count) + 0.5) / count)
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    codes = np.tile(k, (len(points), 1))
    # Against the uniform density of the same bins, which the measure has already.
    for missing in ([], [0], [1]):
        values = points.copy()
        values[:, missing] = np.nan
        own = np.where(np.isnan(values), -1, codes)
        ratio = np.exp(made.within.log_ratio(own, values, bins))
        assert ratio.mean() == pytest.approx(1, abs=0.02 if decimals is None else 1e-9)


def test_a_column_that_follows_another_gains_what_bins_lose(schema):
    held_out = schema.encode(two_columns(300, seed=1))
    gained = schema.row_measure(held_out) - schema.log_measure(held_out).sum(axis=1)
    assert gained.mean() > 1
    rows = two_columns(300, seed=1)
    rows["x"] = rows["x"][::-1]
    apart = schema.encode(rows)
    # Where they do not follow each other, no more than the uniform share is lost per number.
    lost = schema.row_measure(apart) - schema.log_measure(apart).sum(axis=1)
    assert (lost >= 2 * np.log(0.05) - 1e-9).all()
    alone = placed({"x": two_columns(400)["x"]})
    assert alone.within is None


def test_draws_follow_the_density_and_stay_in_their_bins(schema):
    encoded = schema.encode(two_columns(2000, seed=2))
    drawn = schema.decode(encoded.bits, 0)
    again = schema.encode(drawn)
    assert np.array_equal(again.codes, encoded.codes)
    x, y = (drawn[name].values for name in ("x", "y"))
    assert np.median(np.abs(y - 2 * x)) < 0.2 * np.median(np.abs(_uniform(schema, encoded)))
    # The middles of bins are left alone, unless something is known of the row.
    middle = schema.decode(encoded.bits, None)
    bins = schema.modelled[0].bins
    inner = (encoded.codes[:, 0] > 0) & (encoded.codes[:, 0] < len(bins.lower) - 1)
    k = encoded.codes[inner, 0]
    np.testing.assert_allclose(middle["x"].values[inner], (bins.lower[k] + bins.upper[k]) / 2)


def _uniform(schema, encoded):
    rows = dataclasses.replace(schema, within=None).decode(encoded.bits, 0)
    return rows["y"].values - 2 * rows["x"].values


def test_skewed_columns_are_placed_on_a_scale_of_their_own(monkeypatch):
    rows, bins = skewed_columns(400), {"x": {"bins": 5}, "y": {"bins": 5}}
    made = placed(rows, bins)
    monkeypatch.setattr(within_fit, "best_power", lambda values: Power())
    plain = placed(rows, bins)
    assert plain.within is None or plain.within.is_plain
    assert plain.to_dict()["columns"] == made.to_dict()["columns"]
    held_out = skewed_columns(500, seed=1)
    scores = [one.row_measure(one.encode(held_out)).mean() for one in (made, plain)]
    assert scores[0] > scores[1] + 0.3
    encoded = made.encode(held_out)
    drawn = made.decode(encoded.bits, 0, tails=False)
    assert np.array_equal(made.encode(drawn).codes, encoded.codes)
    apart = np.log(drawn["y"].values / drawn["x"].values / 2.5)
    assert np.median(np.abs(apart)) < 0.15
    # A missing number, whose bin is known, is imputed beside the one it follows.
    known = np.where([True, False], encoded.within, np.nan)
    errors = []
    for one in (made, plain):
        found = one.decode(encoded.bits, None, tails=False, known=known)["y"].values
        errors.append(np.abs(np.log(found / held_out["y"])).mean())
    assert errors[0] < 0.6 * errors[1]


def test_what_is_known_stays_and_the_rest_is_placed_beside_it(schema):
    truth = two_columns(500, seed=3)
    encoded = schema.encode(truth)
    known = encoded.within.copy()
    known[:, schema.names.index("y")] = np.nan
    placed = schema.decode(encoded.bits, None, known=known)
    np.testing.assert_array_equal(placed["x"].values, truth["x"])
    plain = schema.decode(encoded.bits, None)
    errors = [np.median(np.abs(each["y"].values - truth["y"])) for each in (placed, plain)]
    assert errors[0] < 0.5 * errors[1]


def test_the_same_rows_in_another_order_make_the_same_schema():
    rows = two_columns(300)
    order = np.random.default_rng(5).permutation(300)
    one = placed(rows).to_dict()
    other = placed({name: values[order] for name, values in rows.items()}).to_dict()
    assert one["columns"] == other["columns"]
    np.testing.assert_allclose(one["within"]["factors"], other["within"]["factors"], atol=1e-9)


def test_joined_bins_cover_the_same_line_and_leave_single_values_apart(schema):
    values = np.concatenate([np.repeat(5.0, 60), np.random.default_rng(0).integers(0, 90, 300)])
    bins = make_bins(values.astype(float), Grid(0, True))
    wider = joined(bins, 2)
    assert len(wider.lower) < len(bins.lower)
    assert (wider.lower[0], wider.upper[-1]) == (bins.lower[0], bins.upper[-1])
    assert set(wider.cuts) <= set(bins.cuts)
    five = wider.codes(np.array([5.0]))[0]
    assert wider.upper[five] - wider.lower[five] == 1
    # A bin's numbers still have probabilities that sum to one.
    line = np.arange(-3000.0, 3000.0)
    codes = wider.codes(line)
    measure = np.exp(wider.log_measure(line, codes))
    np.testing.assert_allclose(np.bincount(codes, measure), 1, atol=1e-6)
    assert joined(bins, 1).to_dict() == bins.to_dict()
    assert joined_schema(schema, 1).states == schema.states


def test_bins_that_were_asked_for_stay():
    rows = two_columns(400)
    asked = placed(rows, ["x=numeric"])
    assert asked.to_dict() == placed(rows).to_dict()
    exact = placed(rows, {"x": {"kind": "numeric", "bins": 9}})
    assert exact.states[0] == 9
    assert exact.within is not None
    even = infer_schema(rows, options=SchemaOptions(within="uniform"))
    assert even.within is None
    assert even.states[0] > placed(rows).states[0]


def test_few_or_incomplete_rows_are_placed_evenly():
    assert placed(two_columns(15)).within is None
    rows = two_columns(100)
    rows["x"] = np.where(np.arange(100) % 10, np.nan, rows["x"])
    made = placed(rows)
    assert fit_within(made, made.encode(rows)) is None


def test_rows_with_gaps_teach_what_complete_rows_would():
    """A third of the cells is missing, so that few rows have all three numbers."""
    rng = np.random.default_rng(3)
    covariance = np.array([[1.0, 0.9, -0.5], [0.9, 1.0, -0.6], [-0.5, -0.6, 1.0]])
    values = rng.multivariate_normal(np.zeros(3), covariance, 600)
    values[rng.random(values.shape) < 1 / 3] = np.nan
    schema = infer_schema(dict(zip("abc", values.T, strict=True)), None, SchemaOptions(bins=4))
    encoded = schema.encode(dict(zip("abc", values.T, strict=True)))
    made = fit_within(schema, encoded, (1,))
    assert made is not None
    found = made.factors[0] @ made.factors[0].T
    deviations = np.sqrt(np.diag(found))
    correlations = found / np.outer(deviations, deviations)
    np.testing.assert_allclose(correlations, covariance, atol=0.1)
    np.testing.assert_allclose(made.centre + made.spread * made.means[0], 0, atol=0.15)


def test_scales_are_stored_and_an_earlier_release_refuses_them():
    made = placed(skewed_columns(300))
    values = json.loads(json.dumps(made.to_dict()))
    assert values["version"] == 3
    encoded = made.encode(skewed_columns(50, seed=4))
    again = Schema.from_dict(values)
    np.testing.assert_array_equal(again.row_measure(encoded), made.row_measure(encoded))


def test_it_is_stored_with_the_schema_and_strangers_are_refused(schema):
    values = json.loads(json.dumps(schema.to_dict()))
    assert values["version"] == 2
    again = Schema.from_dict(values)
    encoded = schema.encode(read_frame(two_columns(50, seed=4)))
    np.testing.assert_array_equal(again.row_measure(encoded), schema.row_measure(encoded))
    plain = dataclasses.replace(schema, within=None).to_dict()
    assert plain["version"] == 1
    assert Schema.from_dict(plain).within is None
    wrong = [
        {"groups": [0, 1]},
        {"groups": [0, 0]},
        {"spread": [1.0, 0.0]},
        {"means": [[0.0]]},
        {"log_weights": []},
        {"factors": "none"},
        {"powers": [[0.0, 1.0, 1.0]]},
        {"powers": [[0.0, 1.0, 3.0]] * 2},
        {"powers": [[0.0, 1.0]] * 2, "spread": [1.0]},
        {"powers": 5},
    ]
    for change in wrong:
        with pytest.raises(DataError, match="where in their bins"):
            Schema.from_dict(values | {"within": values["within"] | change})


def test_numbers_near_a_bound_stay_in_their_bins():
    # The bound between the two least bins is smaller than what the Gaussian can tell from them.
    rng = np.random.default_rng(0)
    tiny = np.array([-1.4e-45, -5.9e-150, 0.0, 4e-175, 6e-5, 200.0])
    numbers = np.concatenate([np.repeat(tiny, 4), rng.uniform(2e5, 9e5, 26)])
    table = {"x": numbers, "y": numbers + rng.normal(0, 1e5, 50)}
    made = placed(table)
    assert made.within is not None
    encoded = made.encode(table)
    for seed in range(5):
        assert np.array_equal(made.encode(made.decode(encoded.bits, seed)).codes, encoded.codes)
