"""One training by two processes: what one process makes, stopped and gone on with at will."""

import json
import signal
import socket
import sys
import time

import numpy as np
import pytest
from safetensors.numpy import load_file

import wakesleep as ws
from tests.processes.hosts import (
    dying,
    ended,
    last_checkpoint,
    listening,
    place,
    together,
    train,
)
from wakesleep.processes.place import free_address

SMALL = ("digits", "--model", "sbn/sbn 10-20", "--batch-size", 100, "--no-diagnostics")
STATED = 60
"""Seconds within which docs/howto/cluster.md says that the others stop."""
ROUND_OFF = 1e-5
"""Ten epochs of Adam on weights of size 1: some tens of float32's last places."""


def same_weights(one, other, tolerance=ROUND_OFF):
    one, other = load_file(last_checkpoint(one)), load_file(last_checkpoint(other))
    assert set(one) == set(other)
    for name, values in one.items():
        np.testing.assert_allclose(
            values.astype(float), other[name].astype(float), 0, tolerance, err_msg=name
        )


def epochs(run):
    path = run / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_for_epochs(run, count, *processes):
    """The addresses at which each of the processes listened meanwhile."""
    seen = [set() for _ in processes]
    while len(epochs(run)) < count:
        assert all(each.poll() is None for each in processes), [ended(one) for one in processes]
        for addresses, process in zip(seen, processes, strict=True):
            addresses |= {address for address, _ in listening(process)}
        time.sleep(0.05)
    return seen


def test_two_processes_make_what_one_makes_and_one_goes_on_where_two_stopped(tmp_path):
    """To the last bit, if the one computes the same shares."""
    alone, both = tmp_path / "alone", tmp_path / "both"
    words = (*SMALL, "--epochs", 10)
    one = train(*words, "--quiet", "--out", alone, "--shares", 2)
    two = train(*words, "--json", "--out", both, "--processes", 2)
    # Nothing listens where nobody is to be met.
    assert wait_for_epochs(alone, 1, one, two)[0] == set()
    assert wait_for_epochs(both, 3, two) == [{"127.0.0.1"}]
    two.send_signal(signal.SIGTERM)
    code, out, err = ended(two)
    assert code == 130, err
    # Nothing but results is on standard output, whatever gloo would like to print.
    *_, last = [json.loads(line) for line in out.splitlines()]
    assert last["resume"] == f"wakesleep train --resume {both}"
    assert ended(one)[0] == 0
    code, _, err = ended(train("--resume", both, "--quiet", "--no-diagnostics"))
    assert code == 0, err
    same_weights(alone, both, 0)
    assert [each["valid_ll"] for each in epochs(both)] == [
        each["valid_ll"] for each in epochs(alone)
    ]


@pytest.mark.slow
def test_the_same_command_with_two_processes_gives_the_same_bits_on_mnist(tmp_path):
    if ws.DATASETS["binarized_mnist"].absence():
        pytest.skip("no binarized_mnist here")
    alone, both = tmp_path / "alone", tmp_path / "both"
    words = ("binarized_mnist", "--model", "sbn/sbn 200", "--epochs", 2, "--quiet")
    assert ended(train(*words, "--out", alone))[0] == 0
    assert ended(train(*words, "--out", both, "--processes", 2))[0] == 0
    same_weights(alone, both, 0)


@pytest.mark.slow
def test_a_minibatch_that_is_not_cut_is_rounded_otherwise_and_no_more(tmp_path):
    whole, both = tmp_path / "whole", tmp_path / "both"
    words = (*SMALL, "--epochs", 10, "--quiet")
    assert ended(train(*words, "--out", whole))[0] == 0
    assert ended(train(*words, "--out", both, "--processes", 2))[0] == 0
    same_weights(whole, both)
    assert [each["valid_ll"] for each in epochs(both)] == pytest.approx(
        [each["valid_ll"] for each in epochs(whole)], abs=1e-4
    )


def test_processes_that_do_not_belong_together_say_so_before_training(tmp_path):
    # Linux has all of 127.0.0.0/8 for itself.
    host = "127.0.0.2" if sys.platform == "linux" else "127.0.0.1"
    address = free_address(host)
    words = (*SMALL, "--out", tmp_path / "run", "--quiet")
    zero = train(*words, *place(address, 0, 2))
    while not listening(zero):
        assert zero.poll() is None, ended(zero)
        time.sleep(0.05)
    assert listening(zero) == {(host, int(address.split(":")[1]))}
    one = train(*words, *place(address, 1, 2), "--seed", 5)
    for code, _, err in map(ended, (zero, one)):
        assert code == 2
        assert "has --seed 5, process 0" in err
        assert err.count("\n") == 1
    assert not epochs(tmp_path / "run")


@pytest.mark.slow
def test_other_data_and_minibatches_that_cannot_be_shared_are_refused(tmp_path):
    words = ("--model", "sbn/sbn 5", "--batch-size", 10, "--quiet", "--out", tmp_path / "run")
    rng = np.random.default_rng(0)
    files = [tmp_path / "0.npy", tmp_path / "1.npy"]
    for file in files:
        np.save(file, rng.integers(0, 2, (50, 6), dtype=np.uint8))
    address = free_address()
    both = [train(file, *words, *place(address, i, 2)) for i, file in enumerate(files)]
    for code, _, err in map(ended, both):
        assert code == 2
        assert "process 1 cannot take part: its train set has other contents" in err
    three = train(files[0], *words, "--processes", 3, "--overwrite")
    code, _, err = ended(three)
    assert code == 2
    assert "--batch-size 9 can" in err


@pytest.mark.slow
def test_a_taken_port_a_wrong_coordinator_and_missing_processes(tmp_path):
    words = (*SMALL, "--quiet", "--out", tmp_path / "run", "--process-count", 2)
    nowhere = train(*words, "--coordinator", "here", "--process-id", 0)
    assert "must be HOST:PORT" in ended(nowhere)[2]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, _, err = ended(train(*words, "--coordinator", address, "--process-id", 0))
        assert code == 2
        assert "Address already in use" in err


@pytest.mark.slow
def test_twenty_deaths_at_random_moments_leave_the_same_weights(tmp_path):
    """Either process is killed; the other ends by itself, with a sentence and a checkpoint.

    The run that nobody disturbed is one process's, of the same shares.
    """
    rng = np.random.default_rng(20)
    undisturbed, run = tmp_path / "undisturbed", tmp_path / "run"
    often = ("--checkpoint-every", 0.2, "--no-diagnostics", "--quiet")
    words = (*SMALL, "--epochs", 400, *often)
    assert ended(train(*words, "--out", undisturbed, "--shares", 2))[0] == 0
    waited = []
    while len(waited) < 20:
        begun = (run / "config.toml").exists()
        start = ("--resume", run, *often) if begun else (*words, "--out", run)
        two = together(free_address(), 2, *start)
        wait_for_epochs(run, len(epochs(run)) + 1, *two)
        time.sleep(float(rng.uniform(0, 0.3)))
        victim = int(rng.integers(2))
        two[victim].kill()
        waited.append(ends_alone(two[1 - victim]))
        assert ended(two[victim])[0] == -signal.SIGKILL
    assert max(waited) < STATED
    assert len(epochs(run)) < 400
    assert ended(train("--resume", run, *often, "--processes", 2))[0] == 0
    same_weights(undisturbed, run, 0)
    assert [each["valid_ll"] for each in epochs(run)] == [
        each["valid_ll"] for each in epochs(undisturbed)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "victim"),
    [
        ("_ending_if_one_is_lost", 0),
        ("_ending_if_one_is_lost", 1),
        # Of process 0's death there JAX itself speaks first, and aborts.
        ("cpu_client_at", 1),
        ("give_up_on_silence", 0),
        ("give_up_on_silence", 1),
    ],
)
def test_a_death_while_they_meet_is_a_sentence_too(moment, victim, tmp_path):
    address = free_address()
    words = (*SMALL, "--quiet", "--out", tmp_path / "run")
    lost = dying(moment, *words, *place(address, victim, 2))
    left = train(*words, *place(address, 1 - victim, 2))
    assert ended(lost)[0] == -signal.SIGKILL
    assert ends_alone(left) < STATED


def ends_alone(process):
    """The seconds until a process ends that was left alone, which it says in a sentence."""
    began = time.monotonic()
    code, _, err = ended(process)
    assert code == 1, err
    assert "gone" in err
    assert err.count("\n") == 1
    return time.monotonic() - began
