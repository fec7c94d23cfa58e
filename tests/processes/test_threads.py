"""XLA has at least two threads: with one it would round otherwise."""

import os
import subprocess
import sys

import pytest

from wakesleep.processes.threads import enough_threads, never_one_thread, own_cores

ON_ONE_CORE = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import wakesleep
print(os.environ["PJRT_NPROC"])
"""


def test_a_thread_for_each_core_and_at_least_two(monkeypatch):
    environment = {"PJRT_NPROC": "7"}
    for cores, threads in ({3}, "2"), ({0, 1}, "2"), ({0, 2, 5, 6}, "4"):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, found=cores: found, raising=False)
        assert own_cores() == sorted(cores)
        enough_threads(environment)
        assert environment["PJRT_NPROC"] == threads


def test_the_number_that_a_caller_chose_stays_unless_it_is_one(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    for given, threads in ({}, "2"), ({"PJRT_NPROC": "1"}, "2"), ({"PJRT_NPROC": "7"}, "7"):
        never_one_thread(given)
        assert given["PJRT_NPROC"] == threads


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no way to stay on one core")
def test_importing_the_package_on_one_core_is_enough():
    environment = {name: value for name, value in os.environ.items() if name != "PJRT_NPROC"}
    words = [sys.executable, "-c", ON_ONE_CORE]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2"]
