"""Training from mapped files, and from grey values that are binarised anew in every epoch."""

import dataclasses

import jax
import numpy as np
import pytest

from tests.training.test_fit import TWO_PHASES, same_bits
from wakesleep.architecture import build
from wakesleep.cli import main
from wakesleep.data import Dataset, GreyRows, PackedBits, load_dataset, pack_dataset
from wakesleep.runs.config import DataConfig, RunConfig, read_config
from wakesleep.training import fit
from wakesleep.training.batches import Batches, pass_order
from wakesleep.training.events import Interrupted
from wakesleep.training.validation_score import ValidationScore


@pytest.fixture(scope="module")
def bars():
    return load_dataset("bars", size=3, train=100, valid=40, test=0)


@pytest.fixture(scope="module")
def greys():
    grey = np.random.default_rng(0).integers(0, 256, (100, 9), np.uint8)
    valid = GreyRows(grey[:20]).once(1)
    return Dataset("greys", GreyRows(grey), valid, valid, "dynamic")


@pytest.fixture
def model(key):
    return build("sbn/ar_sbn 3-4", features=9, key=key)


def test_training_from_a_mapped_file_is_training_from_memory(model, bars, tmp_path):
    pack_dataset(bars, tmp_path / "bars.safetensors")
    mapped = load_dataset(tmp_path / "bars.safetensors")
    assert isinstance(mapped.train.rows, np.memmap)
    first, second = (fit(model, data, TWO_PHASES, seed=1) for data in (bars, mapped))
    assert same_bits(first.snapshot.arrays, second.snapshot.arrays)
    assert first.snapshot.best == second.snapshot.best


@pytest.mark.parametrize("examples", [1, 2, 100, 1001])
def test_the_order_takes_four_bytes_an_example_and_is_numpy_s(examples):
    order = pass_order(examples, seed=3, number=5)
    assert order.itemsize == 4
    expected = np.random.default_rng((3, 5)).permutation(examples)
    np.testing.assert_array_equal(order, expected)


def test_the_last_minibatch_is_filled_up_with_the_first_rows():
    data = PackedBits(np.arange(7, dtype=np.uint8)[:, None], 8)
    (block,) = Batches(data, batch_size=4, seed=0, steps=2).epoch(0)
    order = pass_order(7, 0, 0)
    assert block.rows.ravel().tolist() == [*order, order[0]]


@pytest.mark.parametrize("size", [5, 40, 53])
def test_validation_in_many_calls_is_validation_in_one(model, bars, monkeypatch, size):
    data = bars.train.take(np.arange(size))
    monkeypatch.setattr("wakesleep.training.validation_score.ROWS_PER_BLOCK", 20)
    whole = ValidationScore(data, 5, jax.random.key(0))
    monkeypatch.setattr("wakesleep.training.validation_score.BYTES_PER_CALL", 24)
    pieces = ValidationScore(data, 5, jax.random.key(0))
    assert len(whole.calls) == 1
    assert len(pieces.calls) == -(-size // 12)
    assert pieces(model) == pytest.approx(whole(model), rel=1e-6)


def test_every_epoch_shows_new_bits_of_the_same_grey_rows(greys):
    epochs = [shown_in(greys.train, seed=0, epoch=epoch) for epoch in range(300)]
    share = np.mean([bits.mean(axis=0) for bits in epochs], axis=0)
    expected = greys.train.mean()
    assert (np.abs(share - expected) < 4 * np.sqrt(0.25 / 30_000)).all()
    assert not np.array_equal(np.sort(epochs[0], axis=0), np.sort(epochs[1], axis=0))
    np.testing.assert_array_equal(epochs[7], shown_in(greys.train, seed=0, epoch=7))


def shown_in(table, seed, epoch):
    (block,) = Batches(table, 25, seed, steps=4).epoch(epoch)
    return np.unpackbits(block.rows.reshape(100, -1), axis=1, count=table.features)


def test_grey_rows_stopped_within_an_epoch_lose_nothing(model, greys, monkeypatch):
    whole = fit(model, greys, TWO_PHASES, seed=1)
    monkeypatch.setattr("wakesleep.training.batches.STEPS_PER_CALL", 3)
    snapshot, middles = None, 0
    while snapshot is None or not snapshot.finished:
        seen = []
        options = {"resume": snapshot, "observers": [seen.append], "should_stop": lambda: True}
        snapshot = fit(model, greys, TWO_PHASES, seed=1, **options).snapshot
        middles += isinstance(seen[-1], Interrupted) and snapshot.position.step > 0
    assert middles == 8
    assert same_bits(snapshot.arrays, whole.snapshot.arrays)


def test_new_bits_each_epoch_train_another_model_than_fixed_ones(model, greys):
    fixed = dataclasses.replace(greys, train=greys.train.once())
    first, second = (fit(model, data, TWO_PHASES, seed=1) for data in (greys, fixed))
    assert not same_bits(first.model, second.model)


@pytest.mark.parametrize("binarise", [None, "dynamic", "0.25"])
def test_the_binarisation_is_in_the_configuration(tmp_path, binarise):
    config = RunConfig(DataConfig("grey.npy", binarise=binarise).resolved())
    path = tmp_path / "config.toml"
    path.write_text(config.to_toml())
    assert read_config(path) == config
    assert read_config(path).data.binarise == binarise


def test_a_run_on_grey_values_names_its_binarisation(tmp_path, capsys):
    grey = np.random.default_rng(0).random((60, 6)).astype(np.float32)
    np.save(tmp_path / "grey.npy", grey)
    run = tmp_path / "run"
    words = ["train", str(tmp_path / "grey.npy"), "--binarise", "dynamic", "--epochs", "2"]
    assert main([*words, "--model", "sbn/sbn 2", "--out", str(run), "--quiet"]) == 0
    assert main(["evaluate", str(run), "--samples", "10", "--quiet", "--json"]) == 0
    assert "dynamic: training bits drawn anew each epoch" in capsys.readouterr().out
    assert main([*words[:3], "0", "--out", str(tmp_path / "no")]) == 2
    assert "binarise '0' must be 'dynamic' or a threshold" in capsys.readouterr().err


def test_a_table_is_packed_and_trained_on(tmp_path, capsys):
    rows = np.random.default_rng(0).integers(0, 2, (60, 5))
    np.savetxt(tmp_path / "own.csv", rows, fmt="%d", delimiter=",")
    packed = tmp_path / "own.safetensors"
    assert main(["data", "pack", str(tmp_path / "own.csv"), str(packed), "--seed", "3"]) == 0
    assert "48 / 6 / 6 rows" in capsys.readouterr().out
    expected = load_dataset(tmp_path / "own.csv", seed=3)
    np.testing.assert_array_equal(load_dataset(packed).train[:], expected.train[:])
    words = ["train", str(packed), "--model", "sbn/sbn 2", "--epochs", "1", "--quiet"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    assert main(["data", "pack", str(tmp_path / "own.csv"), str(tmp_path / "own.npy")]) == 2
    assert "must end in .safetensors" in capsys.readouterr().err
