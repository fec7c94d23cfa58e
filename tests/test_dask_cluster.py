"""`--dask SCHEDULER`: a scheduler and workers that are processes of their own."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

import wakesleep as ws
from wakesleep import pools
from wakesleep.cli import main
from wakesleep.errors import UsageError
from wakesleep.processes.place import free_address

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

ROOT = Path(__file__).parents[1]


def start(program, *words):
    # In the repository, so that workers find the functions of this file.
    command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *words, "--no-dashboard"]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def worker(scheduler):
    return start("worker", scheduler, "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1")


@contextmanager
def cluster(count=2):
    """(the scheduler's address, the workers) once all are there."""
    from distributed import Client

    host, port = free_address().split(":")
    scheduler = f"tcp://{host}:{port}"
    processes = [start("scheduler", "--host", host, "--port", port)]
    try:
        processes += [worker(scheduler) for _ in range(count)]
        with Client(scheduler, timeout=120) as client:
            if count:
                client.wait_for_workers(count, timeout=120)
        yield scheduler, processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def scheduler():
    with cluster() as (address, _):
        yield address


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone") / "run"
    words = ["train", "digits", "--model", "sbn/sbn 5-10", "--epochs", "3", "--quiet"]
    assert main([*words, "--no-diagnostics", "--out", str(folder)]) == 0
    return folder


def arrays(path):
    with np.load(path) as found:
        return dict(found)


def same_arrays(one, other):
    assert set(one) == set(other)
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name], err_msg=name)


def test_evaluate_and_score_give_the_same_bits(scheduler, run, tmp_path):
    for name, where in (("alone", []), ("dask", ["--dask", scheduler])):
        words = ["evaluate", str(run), "--samples", "1000", "--quiet"]
        assert main([*words, "--out", str(tmp_path / f"{name}.npz"), *where]) == 0
        (run / "yardstick.json").unlink(missing_ok=True)
        table = tmp_path / f"{name}.csv"
        assert main(["score", str(run), "digits", "--out", str(table), *where]) == 0
    same_arrays(arrays(tmp_path / "alone.npz"), arrays(tmp_path / "dask.npz"))
    assert (tmp_path / "alone.csv").read_bytes() == (tmp_path / "dask.csv").read_bytes()


def test_learning_rates_are_chosen_as_on_one_machine(scheduler, tmp_path):
    words = ["train", "digits", "--model", "sbn/sbn 5-10", "--epochs", "3", "--quiet"]
    words += ["--learning-rate", "0.001,0.01,0.03", "--no-diagnostics", "--out"]
    assert main([*words, str(tmp_path / "alone")]) == 0
    assert main([*words, str(tmp_path / "dask"), "--dask", scheduler]) == 0
    choices = [(tmp_path / each / "choice.json").read_text() for each in ("alone", "dask")]
    assert choices[0] == choices[1]
    same_arrays(*(load_file(tmp_path / each / "model.safetensors") for each in ("alone", "dask")))


def test_reproduce_gives_the_same_results(scheduler, tmp_path, monkeypatch, capsys):
    found = {}
    for name, where in (("alone", []), ("dask", ["--dask", scheduler])):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        assert main(["reproduce", "q-updates", "--quick", "--json", *where]) == 0
        printed = json.loads(capsys.readouterr().out.splitlines()[-1])["q-updates"]
        found[name] = {row: without_times(result) for row, result in printed.items()}
    assert found["alone"] == found["dask"]


def without_times(value):
    """A result but for what no two runs have in common."""
    if isinstance(value, dict):
        left = {k: v for k, v in value.items() if k != "machine" and not k.endswith("seconds")}
        return {name: without_times(each) for name, each in left.items()}
    return value


def test_the_blocks_of_a_killed_worker_are_evaluated_again(run):
    trained, key, seen = ws.load_run(run), jax.random.key(3), []
    data = trained.data.test
    alone = ws.log_likelihood(trained.model, data, 1000, key=key)
    with cluster() as (scheduler, workers), pools.working_on(scheduler):

        def kill_one(done, total):
            if not seen:
                workers[0].kill()
            seen.append(done)
            assert total == len(data)

        found = ws.log_likelihood(trained.model, data, 1000, key=key, progress=kill_one)
        assert workers[0].wait(10) == -signal.SIGKILL
    np.testing.assert_array_equal(found.values, alone.values)
    assert len(seen) > 4
    assert seen == sorted(set(seen))


def noted(folder, number):
    """Takes a while, and takes note of who began it."""
    (folder / f"{number}-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(0.5)
    return os.getpid(), number * number


def test_what_was_fetched_is_never_done_again_and_nothing_is_done_twice_by_one_worker(tmp_path):
    found, fetched = {}, set()
    with cluster() as (scheduler, workers), pools.working_on(scheduler):
        parts = ((n, n) for n in range(12))
        for number, (who, square) in pools.current().each(noted, tmp_path, parts):
            found[number] = square
            if not fetched and len(found) >= 4:
                fetched = set(found)
                (victim,) = [each for each in workers if each.pid == who]
                # The scheduler hears after a moment that the client has what it asked for.
                time.sleep(1)
                victim.kill()
    assert found == {n: n * n for n in range(12)}
    begun = [tuple(map(int, path.name.split("-")[:2])) for path in tmp_path.iterdir()]
    assert len(begun) > 12, "the victim had a part under way"
    assert len(begun) == len(set(begun))
    assert all([number for number, _ in begun].count(each) == 1 for each in fetched)


def test_a_scheduler_that_is_not_there_or_has_no_workers_is_named(run, capsys):
    nowhere = f"tcp://{free_address()}"
    assert main(["evaluate", str(run), "--quiet", "--dask", nowhere]) == 2
    assert f"no Dask scheduler answers at {nowhere}" in capsys.readouterr().err
    with (
        cluster(0) as (idle, _),
        pytest.raises(UsageError, match="has no workers"),
        pools.working_on(idle),
    ):
        pass
