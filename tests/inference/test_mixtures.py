"""Inference by mixtures: responsibilities, imputations and learned weights, by enumeration."""

import jax
import numpy as np
import pytest

import wakesleep as ws
from tests.inference.oracle import frequencies
from tests.mixtures import LOG_P, MIXTURE, ROWS, SEEN, SIZES, components
from tests.oracle import grouped_log_likelihood, observed_log_likelihood
from wakesleep.data import as_bits
from wakesleep.inference import each_row
from wakesleep.inference.mixing import em_log_weights, fit_mixture_weights
from wakesleep.inference.posterior import embedding_names, infer_rows
from wakesleep.inference.responsibilities import joint_effective_samples

BITS = ROWS.astype(np.uint8)
COPIES = 40


def test_likelihoods_and_responsibilities_are_the_exact_ones(key):
    inferred = infer_rows(MIXTURE, as_bits(BITS), 5000, key)
    np.testing.assert_allclose(inferred.log_likelihood, LOG_P, atol=0.1)
    first = grouped_log_likelihood(MIXTURE.components[0], ROWS, SIZES)
    share = np.exp(first + np.asarray(MIXTURE.log_proportions)[0] - LOG_P)
    np.testing.assert_allclose(inferred.means[:, 0], share, atol=0.05)
    np.testing.assert_allclose(inferred.means[:, :2].sum(1), 1, atol=1e-12)
    assert embedding_names(MIXTURE) == ["component_1", "component_2", "c1_h1_1", "c1_h1_2"]
    alone = infer_rows(MIXTURE.components[0], as_bits(BITS), 5000, jax.random.fold_in(key, 0))
    assert np.array_equal(inferred.means[:, 2:], alone.means)


def test_a_row_s_numbers_are_its_own(key, monkeypatch):
    whole = infer_rows(MIXTURE, as_bits(BITS), 30, key)
    monkeypatch.setattr(each_row, "ROWS_PER_CALL", 5)
    backwards = infer_rows(MIXTURE, as_bits(BITS[::-1]), 30, key)
    assert np.array_equal(backwards.means[::-1], whole.means)
    assert np.array_equal(backwards.log_likelihood[::-1], whole.log_likelihood)


@pytest.mark.parametrize("moves", [0, 30])
def test_imputations_are_the_exact_conditionals(moves, key):
    row = ROWS[7]
    log_p, conditional = observed_log_likelihood(LOG_P, ROWS, row, SEEN)
    options = {"samples": 1000, "draws": 100, "moves": moves, "enough": np.inf}
    told = []
    x, missing = np.tile(row, (COPIES, 1)), np.tile(~SEEN, (COPIES, 1))
    progress = lambda *now: told.append(now)  # noqa: E731
    result = ws.impute(MIXTURE, x, missing, key=key, progress=progress, **options)
    assert told[-1] == (2 * COPIES, 2 * COPIES)
    assert result.moved.all() == bool(moves)
    assert np.isnan(result.accepted).all() != bool(moves)
    slack = 1 / result.effective_samples.mean()
    each = np.stack([frequencies(draws, ROWS) for draws in result.draws])
    for estimates, exact in (
        (result.probabilities, conditional @ ROWS),
        (each, conditional),
        (np.exp(result.log_likelihood.astype(float) - log_p)[:, None], 1.0),
    ):
        error = estimates.std(0, ddof=1) / np.sqrt(COPIES)
        assert np.all(np.abs(estimates.mean(0) - exact) < 4.5 * error + slack)
    assert not result.unreliable.any()


def test_rows_that_miss_nothing_come_back_as_they_are(key):
    missing = np.zeros((2, 6), bool)
    missing[1] = ~SEEN
    result = ws.impute(MIXTURE, ROWS[:2], missing, samples=50, moves=0, key=key)
    assert np.all(result.draws[0] == ROWS[0])
    assert np.array_equal(result.probabilities[0], ROWS[0])
    assert np.isnan([result.log_likelihood[0], result.effective_samples[0]]).all()
    assert result.effective_samples[1] > 1


def test_effective_samples_of_all_weights_together():
    """By the definition, from made-up weights of two components and a third that is exact."""
    rng = np.random.default_rng(0)
    weights = [rng.exponential(size=(1, 50)) ** 2, 3 * rng.exponential(size=(1, 70))]
    means = np.array([each.mean() for each in weights] + [2.0])
    shares = (means / means.sum())[None]
    each = np.array([[w.sum() ** 2 / (w**2).sum() for w in weights] + [np.nan]])
    scaled = np.concatenate([w.ravel() / w.size for w in weights])
    expected = means.sum() ** 2 / (scaled**2).sum()
    assert joint_effective_samples(shares, each) == pytest.approx(expected)
    assert np.isnan(joint_effective_samples(shares, each * np.nan))


def test_em_finds_the_weights_that_made_the_rows():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(20), size=3)
    true = np.array([0.6, 0.3, 0.1])
    rows = rng.choice(20, 50_000, p=true @ p)
    weights = np.exp(em_log_weights(np.log(p[:, rows]).T))
    np.testing.assert_allclose(weights, true, atol=0.02)
    assert weights.sum() == pytest.approx(1)


def test_mixing_learns_weights_and_takes_mixtures_apart(key):
    bits = ws.sample(MIXTURE.components[0], 400, key=key)
    mixture = ws.mix([MIXTURE, *components("sbn")], bits, key=key, samples=200)
    assert len(mixture.components) == 3
    weights = np.exp(mixture.log_proportions)
    assert np.all(weights > 1e-4)
    again = fit_mixture_weights(mixture.components, bits, key=key, samples=200)
    np.testing.assert_array_equal(np.float32(again), mixture.log_weights)
    scores = ws.log_likelihood(mixture, bits, method="exact").values
    for each in mixture.components:
        assert scores.mean() > ws.log_likelihood(each, bits, method="exact").mean - 0.01
    with pytest.raises(ws.DataError, match="made for 6"):
        ws.mix(MIXTURE.components, np.eye(3), key=key)
