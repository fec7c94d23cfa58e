"""Blocks, partial batches, budgets and threads change nothing."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.machines import small_machine
from tests.oracle import all_bits, exact_log_likelihood
from wakesleep import importance
from wakesleep.data import PackedBits
from wakesleep.errors import DataError, UsageError, WakesleepError
from wakesleep.evaluation import log_likelihood, workers
from wakesleep.evaluation.accumulator import Accumulator
from wakesleep.evaluation.tiles import Tiling, Widths, tile_log_weights
from wakesleep.models import HelmholtzMachine

X = np.asarray(all_bits(4), np.uint8)


def test_running_sums_equal_the_direct_estimators(key):
    log_weights = 30 * jax.random.normal(key, (3, 1000)) + 500
    sums = Accumulator(3)
    for block in np.split(np.asarray(log_weights), [1, 400, 401], axis=1):
        sums.add(block)
    np.testing.assert_allclose(
        sums.log_likelihoods, importance.log_likelihood_estimate(log_weights), rtol=1e-6
    )
    np.testing.assert_allclose(
        sums.effective_samples, importance.effective_sample_size(log_weights), rtol=1e-4
    )
    np.testing.assert_allclose(sums.bounds, importance.variational_bound(log_weights), rtol=1e-6)


@pytest.mark.parametrize("kind", ["sbn/sbn 2-7", "nade/nade 3", "dbn 2-3"])
def test_a_machines_widths_are_those_of_its_draws(kind, key):
    machine, x = small_machine(kind), jnp.asarray(X[:1], jnp.float32)
    latent = [layer.size for layer in machine.draw(key, x, 1).h]
    assert Widths.of(machine, x) == Widths(max(4, *latent), 4 + 2 * sum(latent))


def test_relative_variance_is_the_sample_variance_of_the_mean(key):
    weights = np.exp(np.asarray(jax.random.normal(key, (2, 50)), np.float64))
    sums = Accumulator(2)
    sums.add(np.log(weights))
    expected = weights.var(axis=1, ddof=1) / 50 / weights.mean(axis=1) ** 2
    np.testing.assert_allclose(sums.relative_variances, expected)
    # With one weight that counts, the variance estimate is trusted a third as far.
    single = Accumulator(1)
    single.add(np.array([[0.0, -200.0, -200.0, -200.0]]))
    assert single.cautious_variances(2.0) == pytest.approx(3 * single.relative_variances)


def test_a_second_evaluation_of_the_same_shapes_traces_the_model_no_more(monkeypatch, key):
    traced, draw = [], HelmholtzMachine.draw

    def counted(self, *arguments):
        traced.append(self)
        return draw(self, *arguments)

    monkeypatch.setattr(HelmholtzMachine, "draw", counted)
    machine = small_machine("sbn/sbn 3-5-2")
    log_likelihood(machine, X[:7], 11, key=key, defensive=0)
    assert traced
    traced.clear()
    log_likelihood(machine, X[7:14], 11, key=key, defensive=0)
    assert not traced


@pytest.mark.parametrize("samples", [2500, 300])
def test_streaming_equals_the_direct_estimator_on_the_same_samples(samples, key):
    machine = small_machine("sbn/nade 2-3")
    score = log_likelihood(machine, X[:7], samples, key=key, defensive=0)
    tiling = Tiling.of(samples, 1024)
    direct = []
    for tile in range(-(-7 // tiling.examples)):
        x = np.zeros((tiling.examples, 4), np.float32)
        rows = X[:7][tile * tiling.examples :][: tiling.examples]
        x[: len(rows)] = rows
        blocks = [
            tile_log_weights(machine, x, tiling.samples, key, np.array([tile, block]))
            for block in range(tiling.blocks)
        ]
        weights = jnp.concatenate(blocks, axis=1)[: len(rows), :samples]
        direct += importance.log_likelihood_estimate(weights).tolist()
    assert (score.samples == samples).all()
    np.testing.assert_allclose(score.values, direct, rtol=1e-5)


@pytest.mark.parametrize(("samples", "rows", "blocks"), [(1, 1024, 1), (1025, 1024, 2), (7, 4, 2)])
def test_a_tiling_covers_all_samples_with_little_to_spare(samples, rows, blocks):
    tiling = Tiling.of(samples, rows)
    assert tiling.blocks == blocks
    assert samples <= tiling.blocks * tiling.samples < samples + blocks
    assert tiling.examples * tiling.samples <= rows


@pytest.mark.parametrize("text", ["sbn/nade 2-3", "darn/ar_sbn 3"])
def test_estimates_agree_with_enumeration(text, key):
    machine = small_machine(text, scale=0.5)
    score = log_likelihood(machine, X, 3000, key=key)
    exact = np.asarray(exact_log_likelihood(machine, X.astype(np.float32)))
    assert (np.abs(score.values - exact) <= 5 * score.standard_errors + 1e-5).all()
    assert np.median(score.standard_errors) < 0.15


def test_every_row_counts_once_in_its_place(key):
    machine = small_machine("sbn/sbn 3", scale=0.3)
    rows = np.concatenate([X, X, X[:5]])
    score = log_likelihood(machine, rows, 200, key=key)
    exact = np.asarray(exact_log_likelihood(machine, rows.astype(np.float32)))
    assert np.all(np.abs(score.values - exact) < 4.5 * score.standard_errors + 0.02)
    assert np.ptp(exact) > 0.9


def test_memory_and_threads_change_no_bit(key, monkeypatch):
    machine = small_machine("sbn/sbn 2-3")
    reference = log_likelihood(machine, X, 1500, key=key).records
    frugal = log_likelihood(machine, X, 1500, key=key, memory=10**6).records
    monkeypatch.setattr(workers.os, "cpu_count", lambda: 7)
    threaded = log_likelihood(machine, X, 1500, key=key, memory=10**12).records
    assert reference.tobytes() == frugal.tobytes() == threaded.tobytes()


def test_another_key_gives_other_samples(key):
    machine = small_machine("sbn/sbn 2-3")
    one = log_likelihood(machine, X, 50, key=key).values
    other = log_likelihood(machine, X, 50, key=jax.random.key(1)).values
    assert (one != other).all()


def test_equal_rows_get_samples_of_their_own(key):
    machine = small_machine("sbn/sbn 2-3")
    values = log_likelihood(machine, np.repeat(X[3:4], 60, axis=0), 50, key=key).values
    assert len(np.unique(values)) == 60


def test_progress_counts_examples_up_to_all(key):
    seen = []
    machine = small_machine("sbn/sbn 3")
    log_likelihood(machine, X[:5], 1100, key=key, progress=lambda *now: seen.append(now))
    assert seen == [(n, 5) for n in range(1, 6)]


def test_a_single_sample_is_legal_and_claims_no_error(key):
    score = log_likelihood(small_machine("sbn/sbn 3"), X, 1, key=key)
    np.testing.assert_allclose(score.values, score.bounds)
    assert np.isnan(score.standard_errors).all()
    assert np.isnan(score.confidence)
    assert score.to_dict()["confidence"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 0}, "samples must be 1 or more, not 0"),
        ({"tolerance": 0}, "tolerance must be more than 0, not 0"),
        ({"tolerance": float("nan")}, "tolerance must be more than 0, not nan"),
        ({"defensive": 1.0}, "defensive must be at least 0 and below 1"),
        ({"method": "guess"}, "method 'guess' is unknown"),
        ({"key": None}, "needs a key"),
        ({"memory": 1000}, "one block of samples of this model takes"),
    ],
)
def test_what_cannot_be_is_refused(options, message, key):
    with pytest.raises(UsageError, match=message):
        log_likelihood(small_machine("sbn/sbn 3"), X, **{"key": key, **options})


def test_data_of_another_width_is_refused(key):
    with pytest.raises(DataError, match="3 columns, but the model was made for 4"):
        log_likelihood(small_machine("sbn/sbn 3"), X[:, :3], key=key)


def test_data_without_rows_is_refused(key):
    nothing = PackedBits(np.zeros((0, 1), np.uint8), 4)
    with pytest.raises(DataError, match="data has no rows"):
        log_likelihood(small_machine("sbn/sbn 3"), nothing, key=key)


def test_a_model_that_diverged_is_refused(key):
    machine = small_machine("sbn/sbn 3")
    broken = eqx.tree_at(lambda m: m.q[0].b, machine, jnp.array([0.0, jnp.nan, 0.0]))
    with pytest.raises(WakesleepError, match="infinite or not a number"):
        log_likelihood(broken, X, key=key)
