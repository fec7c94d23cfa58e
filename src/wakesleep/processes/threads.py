"""How many threads XLA has. No JAX here: it is told before it is imported.

With one thread XLA cuts the sums of a matrix product otherwise than with two or more, and so rounds
them otherwise. A process therefore has at least two, also on a single core, where the second costs
2% of the time (`sbn/sbn 200` on MNIST).
"""

import os
from collections.abc import MutableMapping

LEAST = 2
VARIABLE = "PJRT_NPROC"
"""Read by XLA when it starts, which is when JAX first computes something."""


def own_cores() -> list[int]:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def enough_threads(environment: MutableMapping[str, str] = os.environ) -> None:
    """A thread for each core of this process, and at least two."""
    environment[VARIABLE] = str(max(LEAST, len(own_cores())))


def never_one_thread(environment: MutableMapping[str, str] = os.environ) -> None:
    """The same for who imports the package, whose own number stays if it is two or more."""
    given = environment.get(VARIABLE, "")
    if not given.isdecimal() or int(given) < LEAST:
        enough_threads(environment)
