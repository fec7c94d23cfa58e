"""An interrupted evaluation ends in the very numbers of an uninterrupted one."""

import numpy as np
import pytest

from tests.machines import small_machine
from tests.oracle import all_bits
from wakesleep.errors import DataError, UsageError
from wakesleep.evaluation import adaptive, exact, log_likelihood, workers

X = np.asarray(all_bits(4), np.uint8)


@pytest.fixture
def machine():
    return small_machine("sbn/sbn 2-3")


def interrupt_after(examples, seen=None):
    def progress(done, total):
        if seen is not None:
            seen.append(done)
        if done >= examples:
            raise KeyboardInterrupt

    return progress


FIXED = {"samples": 1100}, X, (4, 9), list(range(10, 17))
# Under a tolerance progress comes in tiles, here of 64 examples.
ADAPTIVE = {"samples": 2100, "tolerance": 0.1}, np.tile(X, (10, 1)), (1, 65), [160]


@pytest.mark.parametrize(("options", "x", "stops", "left"), [FIXED, ADAPTIVE])
def test_interrupted_twice_and_resumed_is_bit_identical(
    machine, options, x, stops, left, tmp_path, key, monkeypatch
):
    monkeypatch.setattr(adaptive, "EXAMPLES", 64)
    path = tmp_path / "evaluation.safetensors"
    for examples in stops:
        with pytest.raises(KeyboardInterrupt):
            log_likelihood(
                machine, x, key=key, checkpoint=path, progress=interrupt_after(examples), **options
            )
    seen = []
    resumed = log_likelihood(
        machine, x, key=key, checkpoint=path, progress=lambda done, _: seen.append(done), **options
    )
    assert seen == left
    assert (
        resumed.records.tobytes()
        == log_likelihood(machine, x, key=key, **options).records.tobytes()
    )


def test_exact_evaluations_resume_too(machine, tmp_path, monkeypatch):
    monkeypatch.setattr(exact, "LARGEST_ARRAY", 1)
    path = tmp_path / "evaluation.safetensors"
    with pytest.raises(KeyboardInterrupt):
        log_likelihood(machine, X, method="exact", checkpoint=path, progress=interrupt_after(3))
    resumed = log_likelihood(machine, X, method="exact", checkpoint=path)
    assert resumed.records.tobytes() == log_likelihood(machine, X, method="exact").records.tobytes()


def test_a_finished_evaluation_is_answered_from_its_file(machine, tmp_path, key):
    path = tmp_path / "evaluation.safetensors"
    first = log_likelihood(machine, X, 100, key=key, checkpoint=path)
    again = log_likelihood(machine, X, 100, key=key, checkpoint=path, progress=interrupt_after(0))
    assert again.records.tobytes() == first.records.tobytes()


def test_a_killed_evaluation_leaves_its_last_checkpoint(machine, tmp_path, key, monkeypatch):
    monkeypatch.setattr(workers, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    path, copies = tmp_path / "evaluation.safetensors", []
    log_likelihood(
        machine,
        X,
        1100,
        key=key,
        checkpoint=path,
        progress=lambda *_: copies.append(path.read_bytes() if path.exists() else b""),
    )
    # What stood on disk while the tenth example was reported: nine of them, safe from a kill.
    path.write_bytes(copies[9])
    seen = []
    log_likelihood(
        machine, X, 1100, key=key, checkpoint=path, progress=lambda done, _: seen.append(done)
    )
    assert seen == list(range(10, 17))


def test_a_file_of_another_evaluation_is_refused(machine, tmp_path, key):
    path = tmp_path / "evaluation.safetensors"
    log_likelihood(machine, X, 100, key=key, checkpoint=path)
    for others in (
        {"model": small_machine("sbn/sbn 2-3", seed=8)},
        {"data": 1 - X},
        {"samples": 101},
        {"tolerance": 0.1},
        {"method": "exact"},
    ):
        arguments = {"model": machine, "data": X, "samples": 100, "key": key, **others}
        with pytest.raises(UsageError, match="belongs to an evaluation of another model"):
            log_likelihood(**arguments, checkpoint=path)


def test_a_damaged_file_is_refused_and_kept(machine, tmp_path, key):
    path = tmp_path / "evaluation.safetensors"
    log_likelihood(machine, X, 100, key=key, checkpoint=path)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    damaged = path.read_bytes()
    with pytest.raises(DataError, match="damaged"):
        log_likelihood(machine, X, 100, key=key, checkpoint=path)
    assert path.read_bytes() == damaged
