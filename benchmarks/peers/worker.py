"""One peer in a process of its own: checks it, then times cases from stdin, rows to stdout.

    python -m benchmarks.peers.worker PEER [--budget SECONDS] < cases.json

Peers do not share a process because their thread pools would get in each other's way.
"""

import argparse
import functools
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.cases import Case
from benchmarks.peers.check import (
    check_gradients,
    check_library_likelihood,
    check_likelihood,
)
from benchmarks.peers.problem import machine, to_arrays
from benchmarks.peers.timing import CALLS, LONGEST_ROW, Work, expected_seconds, measure, probe


@dataclass(frozen=True)
class Kind:
    """How a peer is built and checked.

    Attributes:
        build: from a case to an object with `steps(count)` and `evaluate(count)`.
        is_torch: has a number of threads that can be chosen at any time.
        compiles: `compile()` is called once the number of threads is chosen.
        check_batch: examples in the fixed batch of the check.
    """

    build: Callable[[Case], Any]
    is_torch: bool = False
    compiles: bool = False
    check_batch: int = 25


def _wakesleep(case: Case) -> Any:
    from benchmarks.peers.library import Library

    return Library(case)


def _from_arrays(module: str, name: str, case: Case) -> Any:
    peer = getattr(__import__(f"benchmarks.peers.{module}", fromlist=[name]), name)
    return peer(case, to_arrays(machine(case.architecture)))


def _peer(module: str, name: str, **settings: Any) -> Kind:
    return Kind(functools.partial(_from_arrays, module, name), **settings)


PEERS = {
    "wakesleep": Kind(_wakesleep),
    "torch-autograd": _peer("torch_autograd", "Autograd", is_torch=True),
    "torch-derived": _peer("torch_derived", "Derived", is_torch=True),
    "torch-compiled": _peer("torch_derived", "Derived", is_torch=True, compiles=True),
    "pyro": _peer("pyro_rws", "PyroRws", is_torch=True, check_batch=1),
    "jax-scan": _peer("jax_scan", "JaxScan"),
}


def time_case(kind: Kind, case: Case, budget: float) -> dict[str, Any]:
    """The best number of threads, then the median."""
    peer = kind.build(case)
    work: Work = peer.steps if case.task == "step" else peer.evaluate
    work(1)
    threads, one = _best_threads(kind, work, budget / 5)
    if kind.compiles:
        peer.compile()
        work(2)
        one = probe(work, budget / 5)
    timing = measure(work, one, budget)
    return {
        "ms": timing.seconds * 1e3,
        "least_ms": timing.least * 1e3,
        "repetitions": timing.repetitions,
        "threads": threads,
    }


def _best_threads(kind: Kind, work: Work, budget: float) -> tuple[int, float]:
    cores = len(os.sched_getaffinity(0))
    if not kind.is_torch:
        return cores, probe(work, budget)
    import torch

    found = {}
    for threads in sorted({1, cores}, reverse=True):
        torch.set_num_threads(threads)
        found[threads] = probe(work, budget)
    best = min(found, key=found.__getitem__)
    torch.set_num_threads(best)
    return best, found[best]


def check_architecture(name: str, architecture: str, tasks: set[str]) -> dict[str, float]:
    """The largest differences from wakesleep in what is going to be timed."""
    kind = PEERS[name]

    def build(samples: int) -> Any:
        peer = kind.build(Case("step", architecture, kind.check_batch, samples))
        if kind.compiles:
            peer.compile()
        return peer

    if name == "wakesleep":
        return {"log_likelihood": check_library_likelihood(architecture)}
    found = {}
    if "step" in tasks:
        found["gradients"] = check_gradients(build, architecture, kind.check_batch)
    if "evaluation" in tasks:
        found["log_likelihood"] = check_likelihood(build, architecture)
    return found


def run(name: str, cases: list[Case], budget: float) -> None:
    """The cases of an architecture together, its check before them."""
    for architecture in dict.fromkeys(case.architecture for case in cases):
        chosen = [case for case in cases if case.architecture == architecture]
        differences = check_architecture(name, architecture, {case.task for case in chosen})
        _tell({"peer": name, "check": architecture, "differences": differences})
        known: dict[str, tuple[int, float]] = {}
        for case in chosen:
            row = _row(name, case, expected_seconds(known.get(case.task), case.rows), budget)
            if row["ms"]:
                known[case.task] = (case.rows, row["ms"] / 1e3)
            _tell(row)


def _row(name: str, case: Case, expected: float, budget: float) -> dict[str, Any]:
    row = {"peer": name, **case.to_dict()}
    if expected * CALLS > LONGEST_ROW:
        return {**row, "ms": None, "not_run": f"about {expected:.1f} s each"}
    return {**row, **time_case(PEERS[name], case, budget)}


def _tell(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--budget", type=float, default=0.7)
    options = parser.parse_args()
    cases = [Case(**values) for values in json.load(sys.stdin)]
    run(options.peer, cases, options.budget)


if __name__ == "__main__":
    main()
