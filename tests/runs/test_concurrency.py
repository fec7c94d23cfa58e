"""Two at a time: trainings in threads and after a fork, and evaluations: right or refused.

Searches in processes are with the scikit-learn estimator, in tests/sklearn.
"""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.runs.runs import BARE, SHORT, RunOptions, assert_same_run
from wakesleep.errors import UsageError
from wakesleep.runs.loading import load_run
from wakesleep.runs.run_evaluation import RunEvaluation
from wakesleep.runs.start import start_run


def test_two_trainings_in_threads_are_two_trainings_one_after_another(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        each = [pool.submit(start_run, tmp_path / name, SHORT, BARE) for name in ("one", "other")]
        assert all(one.result().snapshot.finished for one in each)
    start_run(tmp_path / "alone", SHORT, BARE)
    for name in ("one", "other"):
        assert_same_run(tmp_path / name, tmp_path / "alone")


def test_a_second_training_or_evaluation_of_a_folder_is_refused(tmp_path):
    refused, run = [], tmp_path / "run"

    def again(event):
        if type(event).__name__ == "EpochDone" and not refused:
            with pytest.raises(UsageError, match="another process is working") as caught:
                start_run(run, SHORT, BARE, overwrite=True)
            refused.append(caught.value)

    start_run(run, SHORT, RunOptions((again,), diagnostics=False))
    assert len(refused) == 1

    running, goes_on = threading.Event(), threading.Event()

    def progress(done, total):
        running.set()
        goes_on.wait(60)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(RunEvaluation(3).of, load_run(run), progress)
        assert running.wait(60)
        with pytest.raises(UsageError, match="another process is working"):
            RunEvaluation(4).of(load_run(run))
        goes_on.set()
        score, summary = first.result()
    assert summary["samples"] == 3
    alone, _ = RunEvaluation(3).of(load_run(run))
    np.testing.assert_array_equal(score.values, alone.values)


FORKED = """
import os, sys, wakesleep as ws
child = os.fork()
model = ws.fit("sbn/sbn 2", ws.load_dataset("bars"), ws.Recipe(epochs=1), progress=False).model
number = float(ws.log_likelihood(model, ws.load_dataset("bars").test[:5], 20, key=0).mean)
if child:
    _, status = os.waitpid(child, 0)
    print(number, flush=True)
    sys.exit(os.waitstatus_to_exitcode(status))
print(number, flush=True)
os._exit(0)
"""


@pytest.mark.slow
def test_a_fork_after_the_import_trains_as_its_parent_does():
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=300, check=True
    )
    one, other = done.stdout.split()
    assert one == other
