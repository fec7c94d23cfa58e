import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.test_importance import machine_with_exact_posterior
from wakesleep.architecture import build
from wakesleep.data import PackedBits, load_dataset
from wakesleep.errors import DataError, UsageError
from wakesleep.evaluation import log_likelihood
from wakesleep.inference.rows import unpack
from wakesleep.recipe import Recipe
from wakesleep.training import DivergenceError, fit
from wakesleep.training.batches import Batches
from wakesleep.training.events import EpochDone, Finished, Interrupted, Started, Stepped
from wakesleep.training.schedule import learning_rates
from wakesleep.training.validation_score import ValidationScore

TWO_PHASES = Recipe(
    batch_size=16,
    validation_samples=3,
    phases=(
        {"epochs": 2},
        {"epochs": 2, "estimator": {"samples": 2}, "optimiser": "sgd", "learning_rate": 0.01},
    ),
)


@pytest.fixture(scope="module")
def bars():
    return load_dataset("bars", size=3, train=100, valid=40, test=40)


@pytest.fixture
def model(key):
    return build("sbn/ar_sbn 3-4", features=9, key=key)


def same_bits(a, b):
    return all(
        np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )


def test_the_same_seed_gives_the_same_bits_and_another_seed_others(model, bars):
    recipe = Recipe(epochs=2, batch_size=16, validation_samples=3)
    first, second = (fit(model, bars, recipe, seed=seed) for seed in (4, np.int64(4)))
    assert same_bits(first.snapshot.arrays, second.snapshot.arrays)
    other = fit(model, bars, recipe, seed=5)
    assert not same_bits(first.model, other.model)


def test_spent_processor_seconds_end_it_after_the_epoch_also_of_a_resumed_run(model, bars):
    spend = dataclasses.replace(TWO_PHASES, processor_seconds=1e-9)
    seen = []
    result = fit(model, bars, spend, seed=4, observers=[seen.append])
    assert len(result.history) == 1
    assert seen[-1].stopped_early
    assert result.snapshot.finished
    assert result.snapshot.processor_seconds == result.history[0].processor_seconds > 0
    enough = dataclasses.replace(TWO_PHASES, processor_seconds=1e9)
    began = dataclasses.replace(seen[-2].snapshot, processor_seconds=2e9)
    began = dataclasses.replace(began, position=dataclasses.replace(began.position, phase=0))
    assert len(fit(model, bars, enough, seed=4, resume=began).history) == 1


def test_going_on_from_any_snapshot_repeats_the_uninterrupted_run(model, bars):
    seen = []
    whole = fit(model, bars, TWO_PHASES, seed=1, observers=[seen.append])
    ends = [event.snapshot for event in seen if isinstance(event, EpochDone)]
    assert len(ends) == 4
    for snapshot in ends:
        again = fit(model, bars, TWO_PHASES, seed=1, resume=snapshot)
        assert same_bits(again.snapshot.arrays, whole.snapshot.arrays)
        assert again.snapshot.best == whole.snapshot.best


def test_stopping_within_an_epoch_loses_nothing(model, bars, monkeypatch):
    monkeypatch.setattr("wakesleep.training.batches.STEPS_PER_CALL", 3)
    whole = fit(model, bars, TWO_PHASES, seed=1)
    snapshot, stops = None, 0
    while snapshot is None or not snapshot.finished:
        seen = []
        result = fit(
            model,
            bars,
            TWO_PHASES,
            seed=1,
            resume=snapshot,
            observers=[seen.append],
            should_stop=lambda: True,
        )
        snapshot = result.snapshot
        assert isinstance(seen[-1], Finished if snapshot.finished else Interrupted)
        stops += 1
    assert stops > 8
    assert same_bits(snapshot.arrays, whole.snapshot.arrays)


def test_events_tell_the_story_in_order(model, bars):
    seen = []
    fit(model, bars, Recipe(epochs=2, batch_size=50), observers=[seen.append])
    kinds = [type(event) for event in seen]
    assert kinds == [Started, Stepped, EpochDone, Stepped, EpochDone, Finished]
    record = seen[2].record
    assert record.epoch == 1
    assert len(record.kl) == 2
    assert 1 <= record.effective_samples <= 5
    assert record.train_ll >= record.train_bound


def test_every_example_is_seen_in_every_epoch():
    rows = np.arange(103, dtype=np.uint8)[:, None]
    batches = Batches(PackedBits(rows, 8), batch_size=10, seed=0, steps=11)
    blocks = list(batches.epoch(3))
    shown = np.concatenate([block.rows[: block.steps].ravel() for block in blocks])
    assert shown.size == 110
    assert set(shown) == set(range(103))
    other = next(batches.epoch(4))
    assert not np.array_equal(other.rows, blocks[0].rows)


def test_an_epoch_can_be_taken_up_in_the_middle(monkeypatch):
    monkeypatch.setattr("wakesleep.training.batches.STEPS_PER_CALL", 4)
    data = PackedBits(np.arange(100, dtype=np.uint8)[:, None], 8)
    batches = Batches(data, 10, seed=0, steps=10)
    blocks = list(batches.epoch(0))
    assert [(block.first, block.steps) for block in blocks] == [(0, 4), (4, 4), (8, 2)]
    rest = list(batches.epoch(0, start=4))
    assert all(np.array_equal(a.rows, b.rows) for a, b in zip(blocks[1:], rest, strict=True))


@pytest.mark.parametrize("steps", [4, 25])
def test_epochs_of_any_length_walk_through_the_same_passes(steps):
    data = PackedBits(np.arange(95, dtype=np.uint8)[:, None], 8)
    passes, epochs = Batches(data, 10, seed=2, steps=10), Batches(data, 10, seed=2, steps=steps)
    blocks = [block for number in range(4) for block in epochs.epoch(number)]
    assert [block.steps for block in blocks] == [steps] * 4
    numbers = np.concatenate([block.numbers for block in blocks])
    expected = [next(passes.epoch(number)).numbers for number in range(-(-len(numbers) // 10))]
    np.testing.assert_array_equal(numbers, np.concatenate(expected)[: len(numbers)])
    rows = np.concatenate([block.rows for block in blocks])
    np.testing.assert_array_equal(rows[..., 0], numbers)


@pytest.mark.parametrize("features", [1, 7, 8, 9, 64])
def test_unpacking_on_the_device_is_numpy_s(features):
    bits = np.random.default_rng(0).integers(0, 2, (5, features), np.uint8)
    packed = np.packbits(bits, axis=1)
    np.testing.assert_array_equal(unpack(jnp.asarray(packed), features), bits)


@pytest.mark.parametrize("size", [1, 7, 2500])
def test_validation_counts_every_example_once(size):
    """With q the exact posterior the estimate has no noise, so any miscount would show."""
    machine = machine_with_exact_posterior()
    bits = np.random.default_rng(size).integers(0, 2, (size, machine.features), np.uint8)
    measured = ValidationScore(PackedBits.pack(bits), 2, jax.random.key(0))(machine)
    exact = log_likelihood(machine, bits, method="exact").mean
    assert measured == pytest.approx(exact, abs=1e-4)


def test_the_best_parameters_are_kept_and_patience_ends_a_phase(model, bars):
    recipe = Recipe(
        epochs=50, batch_size=10, learning_rate=0.3, schedule="constant", average=0.0, patience=3
    )
    seen = []
    result = fit(model, bars, recipe, seed=2, observers=[seen.append])
    values = [record.valid_ll for record in result.history]
    best = int(np.argmax(values))
    assert len(values) == best + 1 + 3 < 50
    assert result.snapshot.best.epoch == best
    assert seen[-1].stopped_early
    measure = ValidationScore(bars.valid, recipe.validation_samples, jax.random.split(_key(2))[1])
    assert measure(result.model) == pytest.approx(max(values), abs=1e-5)


def _key(seed):
    return jax.random.key(seed)


def test_without_a_validation_set_the_last_averaged_parameters_are_kept(model, bars):
    data = dataclasses.replace(bars, valid=bars.valid.take(np.arange(0)))
    result = fit(model, data, Recipe(epochs=2, batch_size=50))
    assert result.history[-1].valid_ll is None
    assert same_bits(result.model, result.snapshot.arrays.state.average)


def test_a_batch_larger_than_the_data_is_the_data(model, bars):
    result = fit(model, bars, Recipe(epochs=1, batch_size=1000))
    assert int(result.snapshot.arrays.state.step) == 1


def test_learning_rates_follow_the_recipe():
    cosine = Recipe(epochs=10, learning_rate=0.1)
    rates = np.concatenate([learning_rates(cosine, epoch, 5) for epoch in range(10)])
    expected = 0.05 * (1 + np.cos(np.pi * np.arange(50) / 50))
    np.testing.assert_allclose(rates, expected, rtol=1e-5)
    divided = Recipe(epochs=10, learning_rate=0.1, schedule="constant", rate_divisor=1.005)
    np.testing.assert_allclose(learning_rates(divided, 7, 3), 0.1 / 1.005**7, rtol=1e-6)


def test_p_and_q_have_learning_rates_of_their_own(model, bars):
    still_q = fit(model, bars, Recipe(epochs=1, rate_q=0.0, average=0.0))
    assert same_bits(still_q.snapshot.arrays.state.model.q, model.q)
    assert not same_bits(still_q.snapshot.arrays.state.model.p, model.p)
    still_p = fit(model, bars, Recipe(epochs=1, rate_p=0.0, average=0.0))
    assert same_bits(still_p.snapshot.arrays.state.model.p, model.p)
    assert not same_bits(still_p.snapshot.arrays.state.model.q, model.q)


def test_divergence_names_the_epoch_the_step_and_the_parameter(model, bars):
    recipe = Recipe(epochs=3, batch_size=10, learning_rate=1e38, schedule="constant", average=0.0)
    with pytest.raises(DivergenceError, match=r"epoch 1, step \d+: the \w+ of [pq]\.\d\.\w+ is"):
        fit(model, bars, recipe)
    broken = eqx.tree_at(lambda m: m.q[1].b, model, jnp.full(3, jnp.nan))
    with pytest.raises(DivergenceError, match=r"epoch 1, step 1: the value of q\.1\.b is"):
        fit(broken, bars, recipe)


def test_data_that_does_not_fit_is_refused(key, bars):
    with pytest.raises(DataError, match="9"):
        fit(build("sbn/sbn 2", features=8, key=key), bars)
    empty = dataclasses.replace(bars, train=bars.train.take(np.arange(0)))
    with pytest.raises(UsageError, match="no training rows"):
        fit(build("sbn/sbn 2", features=9, key=key), empty)
