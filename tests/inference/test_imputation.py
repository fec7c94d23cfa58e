"""Imputations against the exact conditional distributions of machines that can be listed."""

import jax
import numpy as np
import pytest

import wakesleep as ws
from tests.inference.oracle import frequencies, imputations, probabilities
from tests.oracle import sharpen
from wakesleep.errors import DataError, UsageError
from wakesleep.inference.imputation import impute

FEATURES = 5
MACHINES = ("sbn/sbn 2-3", "ar_sbn(order=2)/sbn 3", "nade/nade 2-2", "nade(hidden=3)")
X = np.array([1, 0, 1, 1, 0], np.float32)
MASKS = {
    "the last": [False, False, False, True, True],
    "the first": [True, True, True, False, False],
    "scattered": [True, False, True, False, True],
    "all": [True] * 5,
}
COPIES = 40


def machine_of(text, scale=1.0):
    key = jax.random.key(11)
    return sharpen(ws.build(text, features=FEATURES, key=key), key, scale=scale)


def run_copies(machine, mask, key, **options):
    """Independent imputations of the same row."""
    rows, masks = np.tile(X, (COPIES, 1)), np.tile(mask, (COPIES, 1))
    return impute(machine, rows, masks, key=key, **options)


def assert_unbiased(estimates, exact, slack):
    error = estimates.std(0, ddof=1) / np.sqrt(len(estimates))
    assert np.all(np.abs(estimates.mean(0) - exact) < 4.5 * error + slack)


@pytest.mark.parametrize(
    "missing",
    [
        "the first",
        "scattered",
        pytest.param("the last", marks=pytest.mark.slow),
        pytest.param("all", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("text", MACHINES)
def test_weighted_probabilities_and_the_likelihood_of_observed_bits_are_exact(text, missing, key):
    machine, mask = machine_of(text), np.array(MASKS[missing])
    result = run_copies(machine, mask, key, samples=1000, moves=0, enough=np.inf)
    assert not result.moved.any()
    # A self-normalised mean is off by about one over the effective sample size.
    slack = 1 / result.effective_samples.mean()
    assert_unbiased(result.probabilities, probabilities(machine, X, mask), slack)
    _, _, log_evidence = imputations(machine, X, mask)
    assert_unbiased(np.exp(result.log_likelihood.astype(float) - log_evidence), 1.0, slack=1e-5)


@pytest.mark.parametrize("text", MACHINES)
def test_moved_probabilities_are_the_exact_conditionals(text, key):
    machine, mask = machine_of(text), np.array(MASKS["scattered"])
    result = run_copies(machine, mask, key, samples=200, moves=40, enough=np.inf)
    assert result.moved.all()
    assert np.all(result.accepted > 0.05)
    assert_unbiased(result.probabilities, probabilities(machine, X, mask), slack=1e-3)


@pytest.mark.parametrize("text", MACHINES)
@pytest.mark.parametrize("moves", [0, 20])
def test_draws_follow_the_exact_joint_distribution(text, moves, key):
    machine, mask = machine_of(text), np.array(MASKS["the first"])
    result = run_copies(machine, mask, key, samples=500, draws=200, moves=moves, enough=np.inf)
    fits, exact, _ = imputations(machine, X, mask)
    # Draws of one row share a population; the rows are independent.
    each = np.stack([frequencies(draws, fits) for draws in result.draws])
    assert_unbiased(each, exact, slack=1 / result.effective_samples.mean())
    assert np.all(result.draws[:, :, ~mask] == X[~mask])


def test_moves_help_where_q_is_bad(key):
    """A machine whose q says nothing of its posterior: weights degenerate, moves recover."""
    machine, mask = machine_of("sbn/sbn 6", scale=5.0), np.array(MASKS["scattered"])
    exact = probabilities(machine, X, mask)
    worst = {}
    for moves in (0, 100):
        result = run_copies(machine, mask, key, samples=30, moves=moves, enough=np.inf)
        worst[moves] = np.abs(result.probabilities.mean(0) - exact).max()
    assert result.effective_samples.mean() < 10
    assert worst[100] < 0.5 * worst[0]
    assert worst[100] < 0.02


def test_rows_without_missing_bits_are_left_alone(key):
    """They come back as they are, and the draws of the others do not depend on them."""
    machine = machine_of("nade/sbn 3")
    rows = np.random.default_rng(0).integers(0, 2, (5, 5))
    masks = np.zeros((5, 5), bool)
    masks[[1, 3]] = MASKS["scattered"]
    seen = []
    options = {"samples": 60, "enough": np.inf, "key": key}
    mixed = impute(machine, rows, masks, progress=lambda *now: seen.append(now), **options)
    alone = impute(machine, rows[[1, 3]], masks[[1, 3]], **options)
    assert seen == [(2, 2)]
    for name, values in vars(alone).items():
        assert getattr(mixed, name)[[1, 3]].tobytes() == values.tobytes(), name
    whole = [0, 2, 4]
    assert np.all(mixed.draws[whole] == rows[whole][:, None])
    assert np.all(mixed.probabilities[whole] == rows[whole])
    assert np.isnan(mixed.log_likelihood[whole]).all()
    assert np.isnan(mixed.effective_samples[whole]).all()
    assert not mixed.moved[whole].any()
    assert not mixed.unreliable[whole].any()


def test_a_table_that_misses_nothing_is_returned_as_it_is(key):
    result = impute(machine_of("nade/sbn 3"), X[None], np.zeros((1, 5), bool), key=key)
    assert np.all(result.draws[0] == X)
    assert np.all(result.probabilities[0] == X)


def test_the_same_key_gives_the_same_imputation_and_nan_marks_what_is_missing(key):
    machine = machine_of("ar_sbn/sbn 3")
    with_nan = np.where(MASKS["the last"], np.nan, X)[None]
    first = impute(machine, with_nan, key=key)
    second = impute(machine, X[None], np.array([MASKS["the last"]]), key=key)
    assert np.array_equal(first.draws, second.draws)
    assert np.array_equal(first.probabilities, second.probabilities)


def test_rows_come_out_in_order_whatever_the_blocks(key, monkeypatch):
    machine = machine_of("sbn/sbn 3")
    rows = np.random.default_rng(0).integers(0, 2, (7, 5))
    mask = np.tile(MASKS["the last"], (7, 1))
    seen = []
    monkeypatch.setattr("wakesleep.inference.stages.LARGEST_ARRAY", 4 * 50 * 5 * 3)
    progress = lambda done, total: seen.append((done, total))  # noqa: E731
    result = impute(machine, rows, mask, samples=50, moves=0, key=key, progress=progress)
    assert seen == [(3, 7), (6, 7), (7, 7)]
    assert np.array_equal(result.draws[:, 0, :3], rows[:, :3])


def test_a_row_that_nothing_helped_is_unreliable():
    few, many = np.float32(2), np.float32(200)
    result = ws.Imputation(
        draws=np.zeros((4, 1, 1), np.uint8),
        probabilities=np.zeros((4, 1), np.float32),
        log_likelihood=np.zeros(4, np.float32),
        effective_samples=np.array([few, few, few, many]),
        moved=np.array([False, True, True, False]),
        accepted=np.array([np.nan, 0.001, 0.4, np.nan], np.float32),
    )
    assert result.unreliable.tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"samples": 0}, "samples"),
        ({"draws": 0}, "draws"),
        ({"draws": 11, "samples": 10}, "draws"),
        ({"moves": -1}, "moves"),
        ({"enough": 0}, "enough"),
    ],
)
def test_options_out_of_range_are_refused(options, said, key):
    with pytest.raises(UsageError, match=said):
        impute(machine_of("sbn/sbn 2"), X[None], key=key, **options)


@pytest.mark.parametrize(
    ("x", "mask", "said"),
    [
        ([[0, 1, 2, 0, 1]], None, "row 1, column 3: found 2"),
        ([[0, 1, 1]], None, "made for 5"),
        ([["a"] * 5], None, "of type"),
        ([[0, 1, 1, 0, 1]], [[0, 1, 1, 0, 1]], "true or false"),
        ([[0, 1, 1, 0, 1]], [[True]], "true or false"),
    ],
)
def test_tables_that_are_none_are_refused(x, mask, said, key):
    with pytest.raises(DataError, match=said):
        impute(machine_of("sbn/sbn 2"), x, mask, key=key)
