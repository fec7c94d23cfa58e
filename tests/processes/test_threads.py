"""XLA has at least two threads: with one it would round otherwise."""

import os

from wakesleep.processes.threads import enough_threads, own_cores


def test_a_thread_for_each_core_and_at_least_two(monkeypatch):
    environment = {"PJRT_NPROC": "7"}
    for cores, threads in ({3}, "2"), ({0, 1}, "2"), ({0, 2, 5, 6}, "4"):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, found=cores: found, raising=False)
        assert own_cores() == sorted(cores)
        enough_threads(environment)
        assert environment["PJRT_NPROC"] == threads
