"""Medians of repetitions within a budget of time."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

REPETITIONS = 5
LONGEST_ROW = 12.0
"""Seconds; a case that would take longer is not run."""
CALLS = REPETITIONS + 3
"""Of a slow case: a first one, one with each number of threads, and the repetitions."""

Work = Callable[[int], None]
"""Does the same thing so many times."""


@dataclass(frozen=True)
class Timing:
    """Seconds per call: the median of the repetitions, and the least."""

    seconds: float
    least: float
    repetitions: int


def seconds_of(work: Work, count: int) -> float:
    start = time.perf_counter()
    work(count)
    return (time.perf_counter() - start) / count


def calls_within(budget: float, one: float) -> int:
    return max(1, int(budget / max(one, 1e-6)))


def probe(work: Work, budget: float) -> float:
    """Seconds per call, roughly; for choosing between settings."""
    return seconds_of(work, calls_within(budget, seconds_of(work, 1)))


def measure(work: Work, one: float, budget: float) -> Timing:
    """At least five repetitions; more calls in each while the budget allows.

    Args:
        work: already run once, so that compilation is over.
        one: seconds per call, roughly.
        budget: seconds for all repetitions.
    """
    count = calls_within(budget / REPETITIONS, one)
    times = [seconds_of(work, count) for _ in range(REPETITIONS)]
    return Timing(statistics.median(times), min(times), len(times))


def expected_seconds(known: tuple[int, float] | None, rows: int) -> float:
    """By a cheaper case of the same architecture: cost is nearly proportional to rows."""
    return 0.0 if known is None else known[1] * rows / known[0]
