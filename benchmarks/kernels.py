"""The native kernels against the pure-JAX ones, and what NADE layers cost a training step.

    python -m benchmarks.kernels [--repetitions 15]

Two sides of a ratio are timed in turn, so that a busy moment of the machine falls on both; the
ratio is that of the medians. Processor time, summed over threads, stands beside: it hardly
changes when others use the machine, and gives the native kernels no credit for their threads.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.machine import provenance, write_result
from benchmarks.steps import AS_DRAWN, Steps
from wakesleep import architecture, kernels
from wakesleep.kernels import ar_sbn, nade_reference
from wakesleep.numerics import bernoulli_log_prob, logistic_noise
from wakesleep.recipe import Recipe
from wakesleep.training.cost import Amounts, measure_rates, part_seconds
from wakesleep.training.work import machine, step_flops, step_passes

BATCH, SAMPLES, PIXELS, HIDDEN = 25, 5, 784, 200
STEPS_PER_CALL = 20
"""Steps, or draws of a sample, in one compiled loop, as training has them: a draw is so short that
calling a compiled function would be a good part of it."""

Timed = Callable[[], Any]
Draw = Callable[..., Any]


@dataclass(frozen=True)
class Side:
    """Medians in milliseconds: by the clock, and of processor time over all threads."""

    name: str
    wall: float
    cpu: float


@dataclass(frozen=True)
class Row:
    """One line of the goals table."""

    measure: str
    slower: Side
    faster: Side
    goal: float
    at_least: bool
    work_ratio: float | None = None
    """The arithmetic of the slower side over that of the faster, where they differ in it."""
    parts: dict[str, dict[str, float]] | None = None
    """Of steps: milliseconds of each kind of work alone, at rates measured in the same run."""

    @property
    def ratio(self) -> float:
        return self.slower.wall / self.faster.wall

    @property
    def cpu_ratio(self) -> float:
        return self.slower.cpu / self.faster.cpu

    @property
    def met(self) -> bool:
        return self.ratio >= self.goal if self.at_least else self.ratio <= self.goal


def compare(sides: dict[str, Timed], repetitions: int, calls: int = 1) -> list[Side]:
    """Time each side in turn; `calls` is how many steps one function does.

    A call that is not timed goes before each that is: otherwise the native side would pay for
    compiling, and for giving back the activations that the reference's scan had stored.
    """
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for _ in range(repetitions):
        for name, function in sides.items():
            jax.block_until_ready(function())
            wall, cpu = time.perf_counter(), time.process_time()
            jax.block_until_ready(function())
            times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return [
        Side(name, *(1e3 / calls * statistics.median(kind) for kind in zip(*taken, strict=True)))
        for name, taken in times.items()
    ]


def digits(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Bits with MNIST's share of ones."""
    return jax.random.bernoulli(key, 0.13, shape).astype(jnp.float32)


def problem(units: int) -> dict[str, jax.Array]:
    keys = jax.random.split(jax.random.key(0), 6)
    batch = (BATCH, SAMPLES)
    return {
        "x": digits(keys[0], (*batch, units)),
        "a": jax.random.normal(keys[1], (*batch, HIDDEN)),
        # About a fifth of the units come out as ones.
        "c": jax.random.normal(keys[2], (*batch, units)) - 2,
        "W": 0.1 * jax.random.normal(keys[3], (units, HIDDEN)),
        "V": 0.1 * jax.random.normal(keys[4], (units, HIDDEN)),
        "S": 0.1 * jax.random.normal(keys[5], (units, units)),
    }


def speedup(
    measure: str, goal: float, slow: Timed, fast: Timed, repetitions: int, calls: int = 1
) -> Row:
    slower, faster = compare({"reference": slow, "native": fast}, repetitions, calls)
    return Row(measure, slower, faster, goal, at_least=True)


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


def sampling(
    measure: str, units: int, names: tuple[str, ...], slow: Draw, fast: Draw, repetitions: int
) -> Row:
    data = problem(units)
    given = [data[name] for name in names]
    noise = logistic_noise(jax.random.key(1), (STEPS_PER_CALL, BATCH, SAMPLES, units))

    def draws(draw: Draw) -> Timed:
        run = jax.jit(lambda noise, *given: lax.map(lambda n: draw(n, *given), noise))
        return lambda: run(noise, *given)

    name = f"{measure} sampling, {units} units"
    return speedup(name, 8, draws(slow), draws(fast), repetitions, STEPS_PER_CALL)


def nade_sampling(units: int, repetitions: int) -> Row:
    given = ("a", "c", "W", "V")
    return sampling("NADE", units, given, nade_reference.draw, kernels.nade_sample, repetitions)


def ar_sbn_sampling(units: int, repetitions: int) -> Row:
    given = ("c", "S")
    return sampling("AR-SBN", units, given, ar_sbn.reference, kernels.ar_sbn_sample, repetitions)


def training_step(name: str) -> Timed:
    """STEPS_PER_CALL steps of the default recipe with the paper's updates in its compiled loop."""
    model = architecture.build(name, PIXELS, key=jax.random.key(0))
    bits = np.asarray(digits(jax.random.key(0), (STEPS_PER_CALL, BATCH, PIXELS)), np.uint8)
    steps = Steps(model, Recipe(batch_size=BATCH, estimator=AS_DRAWN), np.packbits(bits, -1))
    return lambda: steps.run(STEPS_PER_CALL)


def parts_of_step(name: str, rates: Amounts) -> dict[str, float]:
    shapes = machine(name, PIXELS)
    seconds = part_seconds(shapes, step_passes(shapes, BATCH, SAMPLES), rates)
    return {part: 1e3 * value for part, value in seconds._asdict().items()}


def step_cost(dear: str, cheap: str, goal: float, repetitions: int) -> Row:
    rates = measure_rates()
    parts = {name: parts_of_step(name, rates) for name in (dear, cheap)}
    steps = {name: training_step(name) for name in (dear, cheap)}
    slower, faster = compare(steps, repetitions, STEPS_PER_CALL)
    work = step_flops(dear, PIXELS, BATCH, SAMPLES) / step_flops(cheap, PIXELS, BATCH, SAMPLES)
    return Row("training step", slower, faster, goal, at_least=False, work_ratio=work, parts=parts)


def measure(repetitions: int) -> list[Row]:
    return [
        nade_gradient(repetitions),
        *(nade_sampling(units, repetitions) for units in (784, 200)),
        *(ar_sbn_sampling(units, repetitions) for units in (784, 200)),
        step_cost("nade/nade 200", "sbn/sbn 200", 3.6, repetitions),
        step_cost("sbn/nade 200-200-200", "sbn/sbn 200-200-200", 2.2, repetitions),
    ]


def table(rows: list[Row]) -> str:
    lines = [f"{'measure':<33}{'':>21}{'ms':>9}{'':>20}{'ms':>9}{'ratio':>8}{'of CPU':>8}  goal"]
    for row in rows:
        verdict = f"{'>=' if row.at_least else '<='} {row.goal:g}x {'met' if row.met else 'MISSED'}"
        lines.append(
            f"{row.measure:<33}{row.slower.name:>21}{row.slower.wall:>9.3f}"
            f"{row.faster.name:>20}{row.faster.wall:>9.3f}"
            f"{row.ratio:>8.2f}{row.cpu_ratio:>8.2f}  {verdict}"
            + (f" ({row.work_ratio:.2f}x the arithmetic)" if row.work_ratio else "")
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=15)
    options = parser.parse_args()
    about = provenance()
    rows = measure(options.repetitions)
    print(table(rows))
    record = {
        **about,
        "load_average_after": os.getloadavg(),
        "batch": BATCH,
        "samples": SAMPLES,
        "repetitions": options.repetitions,
        "rows": [asdict(row) | {"ratio": row.ratio, "met": row.met} for row in rows],
    }
    write_result("kernels", record)


if __name__ == "__main__":
    main()
