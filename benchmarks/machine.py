"""What the numbers of a benchmark were measured on, and the machine's matrix-multiply rate."""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from wakesleep import provenance as provenance_of
from wakesleep.kernels import native

RESULTS = Path(__file__).parents[1] / "results" / "benchmarks"


def sgemm_rate(size: int = 2048, repetitions: int = 7) -> float:
    """FLOP/s of a large float32 matrix product on all cores: the machine's limit."""
    a = np.ones((size, size), np.float32)
    return 2 * size**3 / median_seconds(lambda: a @ a, repetitions)


def median_seconds(work: Callable[[], Any], repetitions: int) -> float:
    """The median time of some work, after a first run that is not counted."""
    jax.block_until_ready(work())
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        jax.block_until_ready(work())
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def provenance() -> dict[str, Any]:
    """Command, commit, machine and its load, for the results file."""
    found = provenance_of.machine()
    # Of a file its name is enough: where it lies is this machine's business.
    arguments = [Path(text).name if "/" in text else text for text in sys.argv[1:]]
    return {
        "command": f"python -m {_module()} {' '.join(arguments)}".strip(),
        "commit": provenance_of.commit(),
        "load_before": found.pop("load"),
        **found,
        "kernels": native.status()._asdict(),
    }


def write_result(name: str, result: dict[str, Any]) -> None:
    """Into the results; of an instruction set that was asked for, beside the machine's best."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    if asked := os.environ.get(native.INSTRUCTIONS_VARIABLE):
        name = f"{name}-{asked}"
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")


def _module() -> str:
    return f"benchmarks.{Path(sys.argv[0]).stem}"
