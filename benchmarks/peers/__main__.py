"""Compare wakesleep with its peers on this machine; about ten minutes.

    python -m benchmarks.peers [--quick] [--only PATTERN]

Writes results/benchmarks/peers.json, or peers-partial.json for a part of the cases.
`python -m benchmarks.page` makes the page and the plot of the docs from it.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from typing import Any

from benchmarks.machine import provenance, sgemm_rate, write_result
from benchmarks.peers import cases
from benchmarks.peers.cases import Case
from benchmarks.peers.check import TOLERANCE

Row = dict[str, Any]

PEERS = ("wakesleep", "torch-autograd", "torch-derived", "torch-compiled", "pyro", "jax-scan")
QUICK_BUDGET, BUDGET = 0.2, 0.7


def applies(peer: str, case: Case) -> bool:
    """`torch.compile` would unroll a NADE's loop; the scan is written for NADE alone."""
    if peer == "torch-compiled":
        return case.is_sbn
    return peer != "jax-scan" or not case.is_sbn


class Session:
    """One run of the benchmark."""

    def __init__(self, pattern: str, budget: float, cache: str):
        self.pattern = re.compile(pattern)
        self.budget = budget
        self.cache = cache
        self.rows: list[Row] = []
        self.checks: list[Row] = []
        self.limits: list[float] = []

    def select(self, peer: str, wanted: list[Case]) -> list[Case]:
        return [
            case for case in wanted if applies(peer, case) and self.pattern.search(f"{peer} {case}")
        ]

    def run(self, peer: str, wanted: list[Case], cores: int | None = None) -> list[Row]:
        """Time some cases in a process of their own."""
        if not wanted:
            return []
        self.limits.append(sgemm_rate() / 1e9)
        lines = self._worker(peer, wanted, cores)
        self.checks += [line for line in lines if "check" in line]
        return [line for line in lines if "check" not in line]

    def _worker(self, peer: str, wanted: list[Case], cores: int | None) -> list[Row]:
        command = [sys.executable, "-m", "benchmarks.peers.worker", peer]
        process = subprocess.Popen(
            [*command, "--budget", str(self.budget)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self._environment(peer),
            preexec_fn=lambda: _keep_cores(cores),
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([case.to_dict() for case in wanted]))
        process.stdin.close()
        lines = []
        for text in process.stdout:
            lines.append(json.loads(text))
            print(_summary(lines[-1]), file=sys.stderr, flush=True)
        if process.wait():
            raise SystemExit(f"{peer} failed; nothing is written")
        return lines

    def _environment(self, peer: str) -> dict[str, str]:
        # Torch peers use JAX for the check alone, and need not compile it one after another.
        shared = {
            "JAX_COMPILATION_CACHE_DIR": self.cache,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        }
        return os.environ | (shared if peer.startswith(("torch", "pyro")) else {})

    def compare(self, wanted: list[Case]) -> None:
        for peer in PEERS:
            chosen = self.select(peer, wanted)
            cores = self._best_cores(peer, chosen) if peer == "jax-scan" else None
            self.rows += self.run(peer, chosen, cores)

    def _best_cores(self, peer: str, chosen: list[Case]) -> int | None:
        """JAX fixes its threads when it starts; the cheapest case decides for one core or all."""
        if not chosen:
            return None
        alone, together = (self.run(peer, chosen[:1], cores)[0]["ms"] for cores in (1, None))
        return 1 if alone < together else None

    def grow(self, wanted: list[Case]) -> list[Row]:
        """The cases about growth for wakesleep and the peer that is best at the base case."""
        base = {r["peer"]: r["ms"] for r in self.rows if _what(r) == ("step", *cases.BASE)}
        best = min((peer for peer in base if peer != "wakesleep"), key=base.__getitem__, default="")
        return [row for peer in ("wakesleep", best) if peer for row in self._grown(peer, wanted)]

    def _grown(self, peer: str, wanted: list[Case]) -> list[Row]:
        known = {_what(row): row for row in self.rows if row["peer"] == peer}
        missing = {case.what: case for case in self.select(peer, wanted) if case.what not in known}
        known |= {_what(row): row for row in self.run(peer, list(missing.values()))}
        return [{**known[case.what], "axis": case.axis} for case in wanted if case.what in known]


def add_rates(rows: list[Row], limit: float) -> None:
    """How near the arithmetic comes to the machine's matrix-multiply rate."""
    for row in rows:
        case = Case(*_what(row))
        if row["ms"]:
            row["gflops"] = case.flops / row["ms"] / 1e6
            row["fraction_of_sgemm"] = row["gflops"] / limit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few cases, short repetitions")
    parser.add_argument("--only", default="", metavar="PATTERN", help=_ONLY)
    options = parser.parse_args()
    began, about = time.monotonic(), _about()
    with tempfile.TemporaryDirectory() as cache:
        session = Session(options.only, QUICK_BUDGET if options.quick else BUDGET, cache)
        session.compare(cases.quick() if options.quick else cases.comparison())
        growth = [] if options.quick else session.grow(cases.growth())
    if not session.rows:
        raise SystemExit(f"no case matches '{options.only}'")
    limit = statistics.median(session.limits)
    add_rates([*session.rows, *growth], limit)
    about |= {"seconds": time.monotonic() - began, "load_after": os.getloadavg()[0]}
    about |= {"tolerance": TOLERANCE, "sgemm_gflops": limit, "sgemm_gflops_each": session.limits}
    result = {**about, "checks": session.checks, "rows": session.rows, "growth": growth}
    write_result("peers-partial" if options.quick or options.only else "peers", result)


_ONLY = "a regular expression for lines such as 'pyro step sbn/sbn 200 batch=25 K=5'"


def _about() -> Row:
    return {
        **provenance(),
        "command": " ".join(["python -m benchmarks.peers", *sys.argv[1:]]),
        "wakesleep": version("wakesleep"),
        "torch": version("torch"),
        "pyro": version("pyro-ppl"),
    }


def _keep_cores(count: int | None) -> None:
    if count:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


def _what(row: Row) -> tuple[str, str, int, int]:
    return row["task"], row["architecture"], row["batch"], row["samples"]


def _summary(line: Row) -> str:
    if "check" in line:
        found = ", ".join(f"{name} {value:.0e}" for name, value in line["differences"].items())
        return f"{line['peer']:15s} {line['check']:28s} agrees: {found}"
    time_of = f"{line['ms']:10.3f} ms" if line["ms"] else f"not run: {line['not_run']}"
    return f"{line['peer']:15s} {Case(*_what(line))!s:55s} {time_of}"


if __name__ == "__main__":
    main()
