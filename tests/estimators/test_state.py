"""An estimator with state, from a file of its own and one registry line, through every door."""

import os
import signal
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep as ws
from tests.estimators import remembering
from tests.training.test_fit import same_bits
from wakesleep.estimators import Batch, create_estimator, estimator_table
from wakesleep.storage import read_header
from wakesleep.training.events import EpochDone

DRIVER = """
import sys
import tests.estimators.remembering
from wakesleep.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def digits():
    return ws.load_dataset("digits")


def recipe(epochs=3, **changes):
    estimator = {"name": remembering.NAME, "samples": 3}
    return ws.Recipe(epochs=epochs, batch_size=64, estimator=estimator, **changes)


def checkpoints(run):
    return sorted((run / "checkpoints").iterdir())


def test_its_options_are_its_own():
    made = create_estimator({"name": remembering.NAME, "rate": 0.5})
    assert estimator_table(made) == {
        "name": remembering.NAME,
        "samples": 5,
        "rate": 0.5,
        "forget": 0.9,
    }
    with pytest.raises(
        ws.UsageError, match=r"'remembering' has no option 'dreams'; valid: samples"
    ):
        create_estimator({"name": remembering.NAME, "dreams": 2})
    with pytest.raises(ws.UsageError, match="forget must be at least 0 and below 1"):
        create_estimator({"name": remembering.NAME, "forget": 1.0})


def test_the_memory_is_of_the_rows_that_were_shown(key):
    model = ws.build("sbn/sbn 4", features=6, key=key)
    estimator = remembering.Remembering()
    state = estimator.init(model, 10, key)
    rows = jnp.array([7, 2, 5])
    after = estimator.step(model, state, Batch(jnp.ones((3, 6)), rows), key).state
    changed = np.flatnonzero(np.asarray(after.memory) != np.asarray(state.memory))
    assert changed.tolist() == [2, 5, 7]


def test_it_learns_digits_and_its_baseline_learns_too(digits):
    result = ws.fit("sbn/sbn 20", digits, recipe(epochs=40), seed=1)
    assert result.history[-1].valid_ll > result.history[0].valid_ll + 1
    state = result.snapshot.arrays.state.estimator
    assert int(state.steps) == int(result.snapshot.arrays.state.step)
    assert state.memory.shape == (len(digits.train),)
    assert np.all(np.asarray(state.memory) != 0)
    # The bound of a digit is about -25 nats: the baseline has begun to know.
    guess = np.asarray(digits.train[:], np.float32) @ state.baseline["w"] + state.baseline["c"]
    assert -60 < float((guess + state.memory).mean()) < -3


def test_going_on_from_any_epoch_repeats_the_uninterrupted_run(digits):
    seen = []
    whole = ws.fit("sbn/sbn 4", digits, recipe(), seed=1, observers=[seen.append])
    for event in [event for event in seen if isinstance(event, EpochDone)][:-1]:
        again = ws.fit("sbn/sbn 4", digits, recipe(), seed=1, resume=event.snapshot)
        assert same_bits(again.snapshot.arrays, whole.snapshot.arrays)


def test_state_is_kept_between_phases_of_one_kind_and_replaced_where_the_kind_changes(digits):
    phases = (
        {"epochs": 1},
        {"epochs": 1, "estimator": {"samples": 2}},
        {"epochs": 1, "estimator": {"name": "reweighted", "samples": 2}},
        {"epochs": 1, "estimator": {"name": remembering.NAME}},
    )
    seen = []
    ws.fit("sbn/sbn 4", digits, recipe(phases=phases), observers=[seen.append])
    states = [e.snapshot.arrays.state.estimator for e in seen if isinstance(e, EpochDone)]
    steps = -(-len(digits.train) // 64)
    # Each snapshot is where the next phase starts from.
    assert int(states[0].steps) == steps
    assert states[1] == ()
    assert int(states[2].steps) == 0
    assert np.all(np.asarray(states[2].memory) == 0)
    assert int(states[3].steps) == steps


def test_killed_and_resumed_it_ends_bit_for_bit_as_uninterrupted(tmp_path):
    words = ["train", "digits", "--model", "sbn/sbn 4", "--epochs", "12", "--seed", "5"]
    words += ["--estimator.name", remembering.NAME, "--estimator.rate", "0.02", "--samples", "2"]
    env = os.environ | {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }

    def start(*more):
        command = [sys.executable, "-c", DRIVER, *more, "--checkpoint-every", "0", "--json"]
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)

    def finish(*more):
        with start(*more) as process:
            process.communicate()
        return process.returncode

    assert finish(*words, "--out", str(tmp_path / "whole")) == 0
    killed = start(*words, "--out", str(tmp_path / "killed"))
    for _ in range(3):
        killed.stdout.readline()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    whole, broken = tmp_path / "whole", tmp_path / "killed"
    assert checkpoints(broken)[-1].name < checkpoints(whole)[-1].name, "killed before its end"
    assert finish("train", "--resume", str(broken)) == 0
    ends = [checkpoints(run)[-1] for run in (whole, broken)]
    assert ends[0].name == ends[1].name
    assert read_header(ends[0])["sha256"] == read_header(ends[1])["sha256"]
