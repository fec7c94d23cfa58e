"""Starting the other processes of a training on this machine. No JAX here."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

from wakesleep.errors import UsageError
from wakesleep.processes.place import Place, free_address
from wakesleep.processes.threads import enough_threads, own_cores

SECONDS_TO_END = 60
"""The other processes are given this long to end once this one has."""


@contextlib.contextmanager
def launched(count: int, words: list[str]) -> Iterator[Place]:
    """Within this block so many processes, of which this is number 0, run the same command.

    `words` are the command line of the others, which each is told its place by. Cores are shared
    out where there are enough of them.
    """
    if count < 2:
        raise UsageError(f"--processes must be 2 or more, not {count}")
    coordinator = free_address()
    cores = own_cores()
    others = []
    for index in range(1, count):
        place = ["--coordinator", coordinator, "--process-id", str(index)]
        command = [sys.executable, "-m", "wakesleep", *words]
        _stay_on(cores, index, count)
        # In a session of its own Ctrl-C does not reach it: process 0 tells it when to stop.
        others.append(
            subprocess.Popen(
                [*command, *place, "--process-count", str(count)],
                stdin=subprocess.DEVNULL,
                # What stops it, process 0 says too.
                stderr=None if "--debug" in words else subprocess.DEVNULL,
                start_new_session=True,
            )
        )
    _stay_on(cores, 0, count)
    enough_threads()
    try:
        yield Place(coordinator, 0, count)
    finally:
        for other in others:
            try:
                other.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                other.kill()


def _stay_on(cores: list[int], index: int, count: int) -> None:
    """This process, and those it starts from now on, use every `count`-th core."""
    if len(cores) >= count and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores[index::count])
