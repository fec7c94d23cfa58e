"""Densities integrate to one, probabilities sum to one, and draws are of the same distribution."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import integrate, stats

from wakesleep.schema.binning import MOST_BINS, Grid, bin_count, make_bins
from wakesleep.schema.parsing import grid_decimals

RNG = np.random.default_rng(17)
ZEROS = np.r_[np.zeros(80), np.round(RNG.exponential(50, 120), 2)]
CAPPED = np.minimum(np.round(RNG.normal(10, 3, 300), 3), 12.5)
COLUMNS = {
    "full precision": RNG.normal(size=200),
    "two decimals": np.round(RNG.normal(size=200), 2),
    "coarse": RNG.choice([0.5, 1.0, 1.5, 4.0], 100),
    "zeros": ZEROS,
    "cap": CAPPED,
    "lumps off any grid": RNG.choice([1 / 3, 1 / 7, 5 / 3], 60),
    "few rows": np.array([1.25, 3.5, 9.0]),
    "counts": RNG.poisson(3, 200).astype(float),
    "wide counts": RNG.integers(0, 10_000, 150).astype(float),
    "sparse counts": RNG.choice([1.0, 2.0, 40.0, 1000.0], 50),
}
GRIDS = {
    name: Grid(grid_decimals(values), grid_decimals(values) == 0)
    for name, values in COLUMNS.items()
}
WHOLE = [name for name, grid in GRIDS.items() if grid.whole]
REAL = [name for name, grid in GRIDS.items() if not grid.whole]


def bins_of(name, bins=None, atoms=True):
    return make_bins(COLUMNS[name], GRIDS[name], bins, atoms=atoms)


def mass(bins, state):
    """The integral of exp(log_measure) over all of a bin, and its point if it has one."""
    low = bins.lower[state], bins.upper[state]
    outer = np.r_[-np.inf, bins.cuts, np.inf][[state, state + 1]]

    def density(x):
        return float(np.exp(bins.log_measure(np.array([x]), np.array([state])))[0])

    total = density(low[0]) if low[0] == low[1] else 0.0
    edges = [outer[0], *low, outer[1]]
    for start, end in pairwise(edges):
        if start < end:
            total += integrate.quad(density, start, end, epsabs=1e-10)[0]
    return total


@pytest.mark.parametrize(("bins", "atoms"), [(None, True), (3, True), (None, False)])
@pytest.mark.parametrize("name", REAL)
def test_a_bin_integrates_to_one(name, bins, atoms):
    made = bins_of(name, bins, atoms)
    if not atoms:
        assert not len(made.atoms)
        assert (made.upper > made.lower).all()
    for state in range(len(made.lower)):
        assert mass(made, state) == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize("bins", [None, 3])
@pytest.mark.parametrize("name", WHOLE)
def test_the_whole_numbers_of_a_bin_sum_to_one(name, bins):
    made = bins_of(name, bins)
    least, most = made.range()
    far = 60 * max(made.scales)
    values = np.arange(np.floor(least - far), np.ceil(most + far))
    codes = made.codes(values)
    sums = np.bincount(codes, np.exp(made.log_measure(values, codes)), made.states)
    np.testing.assert_allclose(sums, 1.0, atol=1e-9)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_training_value_is_in_a_core_and_no_bin_is_empty(name):
    made, values = bins_of(name), COLUMNS[name]
    codes = made.codes(values)
    assert set(codes) == set(range(made.states))
    inside = codes < len(made.lower)
    k = codes[inside]
    assert ((made.lower[k] <= values[inside]) & (values[inside] <= made.upper[k])).all()


@pytest.mark.parametrize("name", COLUMNS)
def test_draws_stay_in_their_bins_and_on_the_grid(name):
    made, grid = bins_of(name), GRIDS[name]
    codes = np.repeat(np.arange(made.states), 500)
    values = made.draw(codes, np.random.default_rng(0))
    np.testing.assert_array_equal(made.codes(values), codes)
    if grid.decimals is not None:
        np.testing.assert_array_equal(np.round(values, grid.decimals), values)


@pytest.mark.parametrize("name", WHOLE)
def test_draws_of_whole_numbers_have_the_probabilities_of_the_measure(name):
    made = bins_of(name)
    for state in (0, made.states - 1):
        codes = np.full(20_000, state)
        values, counts = np.unique(made.draw(codes, np.random.default_rng(1)), return_counts=True)
        expected = np.exp(made.log_measure(values, codes[: len(values)])) * len(codes)
        likely = expected >= 10
        excess = (counts - expected)[likely] / np.sqrt(expected[likely])
        assert np.abs(excess).max() < 5


@pytest.mark.parametrize("name", ["full precision", "zeros", "two decimals"])
def test_draws_of_reals_have_the_density_of_the_measure(name):
    """Probability integral transform: the mass below a draw is uniform."""
    made = bins_of(name)
    state = len(made.lower) - 1
    drawn = made.draw(np.full(4000, state), np.random.default_rng(2))
    if GRIDS[name].decimals is not None:  # undo the rounding
        drawn += np.random.default_rng(3).uniform(-0.5, 0.5, 4000) * GRIDS[name].step
    low, high, right = made.lower[state], made.upper[state], made.right[state]
    in_core = (1 - right) * (drawn - low) / (high - low)
    in_tail = 1 - right * np.exp(-(drawn - high) / made.scales[1])
    below = np.where(drawn <= high, in_core, in_tail)
    assert stats.kstest(below, "uniform").pvalue > 1e-3


def test_without_tails_nothing_is_outside_the_training_range():
    for name, values in COLUMNS.items():
        made = bins_of(name)
        codes = np.tile([0, len(made.lower) - 1], 2000)
        drawn = made.draw(codes, np.random.default_rng(0), tails=False)
        assert values.min() <= drawn.min()
        assert drawn.max() <= values.max(), name
        assert made.draw(codes, np.random.default_rng(0)).max() > values.max(), name


def test_zeros_and_caps_are_atoms_and_neighbours_on_a_grid_are_not():
    assert bins_of("zeros").atoms.tolist() == [0.0]
    assert bins_of("cap").atoms.tolist() == [12.5]
    assert not len(bins_of("coarse").atoms)
    assert not len(bins_of("two decimals").atoms)
    made = bins_of("zeros")
    assert made.log_measure(np.zeros(1), made.codes(np.zeros(1))) == 0.0


def test_values_far_outside_have_a_finite_density_that_falls():
    for name in COLUMNS:
        made = bins_of(name)
        far = np.round(COLUMNS[name].max() + np.array([1, 2, 1000]) * max(made.scales))
        measure = made.log_measure(far, made.codes(far))
        assert np.isfinite(measure).all()
        assert (np.diff(measure) < 0).all()


def test_the_number_of_bins_grows_with_the_rows_and_can_be_asked_for():
    counts = [bin_count(rows) for rows in (2, 100, 1000, 10**5, 10**7)]
    assert counts == sorted(counts)
    assert counts[-1] == MOST_BINS
    for name in COLUMNS:
        for bins in (2, 3, 7):
            assert 2 <= bins_of(name, bins).states <= max(bins, 2)


def test_quantile_bins_hold_about_equally_many_rows():
    made = bins_of("full precision")
    counts = np.bincount(made.codes(COLUMNS["full precision"]))
    assert counts.max() - counts.min() <= 2


NUMBERS = npst.arrays(
    np.float64,
    st.integers(2, 40),
    elements=st.one_of(
        st.integers(-5, 5).map(float),
        st.integers(-1000, 1000).map(lambda n: n / 100),
        st.floats(-1e6, 1e6, allow_subnormal=False),
    ),
)


@settings(max_examples=200, deadline=None)
@given(NUMBERS, st.sampled_from([None, 2, 5]), st.integers(0, 2**32 - 1))
def test_any_numbers_go_to_bins_and_back(values, bins, seed):
    values = values + 0.0  # no negative zero
    assume(np.ptp(values) > 1e-6 and np.diff(np.unique(values)).min() > 1e-9)
    decimals = grid_decimals(values)
    made = make_bins(values, Grid(decimals, decimals == 0), bins)
    codes = made.codes(values)
    assert set(codes) == set(range(made.states))
    assert np.isfinite(made.log_measure(values, codes)).all()
    drawn = made.draw(codes, np.random.default_rng(seed))
    np.testing.assert_array_equal(made.codes(drawn), codes)
    shuffled = make_bins(
        np.random.default_rng(seed).permutation(values), Grid(decimals, decimals == 0), bins
    )
    np.testing.assert_array_equal(shuffled.codes(values), codes)
