"""The native kernels against the pure-JAX ones, and what NADE layers cost a training step.

    python -m benchmarks.kernels [--repetitions 15] [--out results/benchmarks/kernels.json]

Two sides of a ratio are timed in turn, so that a busy moment of the machine falls on both; the
ratio is that of the medians.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax

from wakesleep import architecture, kernels
from wakesleep.estimators import Reweighted
from wakesleep.kernels import ar_sbn, nade_reference
from wakesleep.numerics import bernoulli_log_prob, logistic_noise

BATCH, SAMPLES, PIXELS, HIDDEN = 25, 5, 784, 200
STEPS_PER_CALL = 20

Timed = Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """One line of the goals table: the ratio of two medians, in milliseconds."""

    measure: str
    slower: str
    slower_ms: float
    faster: str
    faster_ms: float
    goal: str
    met: bool

    @property
    def ratio(self) -> float:
        return self.slower_ms / self.faster_ms


def medians(first: Timed, second: Timed, repetitions: int) -> tuple[float, float]:
    """Milliseconds of each, timed in turn after one call that compiles."""
    times: tuple[list[float], list[float]] = ([], [])
    for repetition in range(repetitions + 1):
        for side, function in zip(times, (first, second), strict=True):
            start = time.perf_counter()
            jax.block_until_ready(function())
            if repetition:
                side.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times[0]), statistics.median(times[1])


def digits(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Bits with MNIST's share of ones."""
    return jax.random.bernoulli(key, 0.13, shape).astype(jnp.float32)


def problem(units: int) -> dict[str, jax.Array]:
    keys = jax.random.split(jax.random.key(0), 7)
    batch = (BATCH, SAMPLES)
    return {
        "x": digits(keys[0], (*batch, units)),
        "noise": logistic_noise(keys[1], (*batch, units)),
        "a": jax.random.normal(keys[2], (*batch, HIDDEN)),
        # About a fifth of the units come out as ones.
        "c": jax.random.normal(keys[3], (*batch, units)) - 2,
        "W": 0.1 * jax.random.normal(keys[4], (units, HIDDEN)),
        "V": 0.1 * jax.random.normal(keys[5], (units, HIDDEN)),
        "S": 0.1 * jax.random.normal(keys[6], (units, units)),
    }


def speedup(measure: str, goal: float, slow: Timed, fast: Timed, repetitions: int) -> Row:
    slow_ms, fast_ms = medians(slow, fast, repetitions)
    met = slow_ms / fast_ms >= goal
    return Row(measure, "reference", slow_ms, "native", fast_ms, f">= {goal:g}x", met)


def nade_gradient(repetitions: int) -> Row:
    data = problem(PIXELS)
    arguments = data["a"], data["c"], data["W"], data["V"]

    def native(a, c, W, V):
        return bernoulli_log_prob(data["x"], kernels.nade_logits(data["x"], a, c, W, V)).mean()

    def autodiff(a, c, W, V):
        logits = nade_reference.effects(data["x"], a, W, V)[0] + c
        return bernoulli_log_prob(data["x"], logits).mean()

    slow, fast = (
        jax.jit(jax.value_and_grad(function, (0, 1, 2, 3))) for function in (autodiff, native)
    )
    measure = f"NADE log-prob + gradient, {PIXELS} units"
    return speedup(measure, 15, lambda: slow(*arguments), lambda: fast(*arguments), repetitions)


def nade_sampling(units: int, repetitions: int) -> Row:
    arguments = [problem(units)[name] for name in ("noise", "a", "c", "W", "V")]
    slow, fast = jax.jit(nade_reference.draw), jax.jit(kernels.nade_sample)
    measure = f"NADE sampling, {units} units"
    return speedup(measure, 8, lambda: slow(*arguments), lambda: fast(*arguments), repetitions)


def ar_sbn_sampling(units: int, repetitions: int) -> Row:
    arguments = [problem(units)[name] for name in ("noise", "c", "S")]
    slow, fast = jax.jit(ar_sbn.reference), jax.jit(kernels.ar_sbn_sample)
    measure = f"AR-SBN sampling, {units} units"
    return speedup(measure, 8, lambda: slow(*arguments), lambda: fast(*arguments), repetitions)


def training_step(name: str) -> Timed:
    """STEPS_PER_CALL steps of Reweighted Wake-Sleep with Adam, compiled into one call."""
    key = jax.random.key(0)
    model = architecture.build(name, PIXELS, key=key)
    optimiser = optax.adam(1e-3)
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    batches = digits(key, (STEPS_PER_CALL, BATCH, PIXELS))

    def step(carry, batch):
        parameters, state, key = carry
        key, step_key = jax.random.split(key)
        gradients, info = Reweighted(samples=SAMPLES)(
            eqx.combine(parameters, static), batch, step_key
        )
        updates, state = optimiser.update(eqx.filter(gradients, eqx.is_inexact_array), state)
        return (optax.apply_updates(parameters, updates), state, key), info.log_likelihood

    run = jax.jit(lambda start: lax.scan(step, start, batches))
    start = (parameters, optimiser.init(parameters), key)
    return lambda: run(start)


def step_cost(dear: str, cheap: str, goal: float, repetitions: int) -> Row:
    dear_ms, cheap_ms = (
        total / STEPS_PER_CALL
        for total in medians(training_step(dear), training_step(cheap), repetitions)
    )
    met = dear_ms / cheap_ms <= goal
    return Row("training step", dear, dear_ms, cheap, cheap_ms, f"<= {goal:g}x", met)


def measure(repetitions: int) -> list[Row]:
    return [
        nade_gradient(repetitions),
        *(nade_sampling(units, repetitions) for units in (784, 200)),
        *(ar_sbn_sampling(units, repetitions) for units in (784, 200)),
        step_cost("nade/nade 200", "sbn/sbn 200", 3, repetitions),
        step_cost("sbn/nade 200-200-200", "sbn/sbn 200-200-200", 1.5, repetitions),
    ]


def machine() -> dict[str, Any]:
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    return {"processor": model, "cores": os.cpu_count(), "load_average": os.getloadavg()}


def commit() -> str:
    git = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()


def table(rows: list[Row]) -> str:
    lines = [f"{'measure':<36}{'':>22}{'ms':>9}{'':>22}{'ms':>9}{'ratio':>8}  goal"]
    for row in rows:
        lines.append(
            f"{row.measure:<36}{row.slower:>22}{row.slower_ms:>9.3f}"
            f"{row.faster:>22}{row.faster_ms:>9.3f}{row.ratio:>8.2f}"
            f"  {row.goal} {'met' if row.met else 'MISSED'}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/kernels.json"))
    options = parser.parse_args()
    before = machine()
    rows = measure(options.repetitions)
    print(table(rows))
    record = {
        "command": " ".join(["python -m benchmarks.kernels", *sys.argv[1:]]),
        "commit": commit(),
        "machine": before,
        "load_average_after": os.getloadavg(),
        "versions": {"python": platform.python_version(), "jax": jax.__version__},
        "kernels": kernels.status()._asdict(),
        "batch": BATCH,
        "samples": SAMPLES,
        "repetitions": options.repetitions,
        "rows": [asdict(row) | {"ratio": row.ratio} for row in rows],
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
