"""One training by several processes: steps per second and bytes on the wire, one core each.

    python -m benchmarks.processes [STEPS]

Each process is pinned to a core of its own, so that there are as many as the machine has cores at
most. The bytes are those that the loopback interface carried during the steps, half of it for each
direction. What 8 and 64 hosts would do is worked out from these numbers, not measured.
"""

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import provenance, write_result

ARCHITECTURE, FEATURES = "sbn/sbn 200-200-200", 784
BATCHES = (100, 1000)
STEPS = 300
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks-processes.md"
WIRE = 10e9 / 8
"""Bytes a second of 10 Gbit."""
LATENCY = 50e-6
"""Seconds for a message between two hosts of one room."""


def place(index: int, count: int, address: str, batch: int, steps: int) -> dict[str, float]:
    """What one process measures."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from wakesleep.architecture import build
    from wakesleep.inference.rows import UnpackBits
    from wakesleep.processes.joining import join
    from wakesleep.processes.place import Place
    from wakesleep.recipe import Recipe
    from wakesleep.training.loop import StepInputs, TrainState, run_steps
    from wakesleep.training.snapshot import start_optimiser, step_config

    team = join(Place(address, index, count), {})
    recipe = Recipe(batch_size=batch)
    model = build(ARCHITECTURE, FEATURES, key=jax.random.key(0))
    start = TrainState(model, model, start_optimiser(model, recipe), jnp.zeros((), jnp.int32), ())
    rng = np.random.default_rng(index)
    rows = jnp.asarray(rng.integers(0, 256, (steps, batch // count, FEATURES // 8), np.uint8))
    numbers = jnp.zeros((steps, batch // count), jnp.int32)
    rest = team.everywhere((jnp.full(steps, 1e-3), jax.random.key(1), jnp.asarray(0)))
    inputs = StepInputs(*team.shared_rows((rows, numbers)), *rest)
    config = step_config(recipe, UnpackBits(FEATURES), team.mesh)
    state, number = team.everywhere((start, jnp.asarray(steps)))
    team.together(run_steps, state, inputs, team.everywhere(jnp.asarray(0)), config)
    team.by_all(None)
    before, began = wire(), time.perf_counter()
    jax.block_until_ready(team.together(run_steps, state, inputs, number, config).state.step)
    seconds = time.perf_counter() - began
    team.by_all(None)
    carried = (wire() - before) / steps
    parameters = sum(leaf.size for leaf in jax.tree.leaves(model))
    team.close()
    return {"seconds": seconds / steps, "wire": carried, "parameters": parameters}


def wire() -> int:
    """Bytes that the loopback interface has carried."""
    lines = Path("/proc/net/dev").read_text(encoding="utf-8").splitlines()
    (loopback,) = [line for line in lines if line.strip().startswith("lo:")]
    return int(loopback.split(":")[1].split()[8])


def measure(count: int, batch: int, steps: int) -> dict[str, float]:
    from wakesleep.processes.launching import _free_port

    address = f"127.0.0.1:{_free_port()}"
    cores = sorted(os.sched_getaffinity(0))
    words = [address, str(batch), str(steps)]
    started = [
        subprocess.Popen(
            [*pinned(cores[i % len(cores)]), "--place", str(i), str(count), *words],
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(count)
    ]
    found = [json.loads(each.communicate()[0]) for each in started]
    return found[0]


def pinned(core: int) -> list[str]:
    return ["taskset", "-c", str(core), sys.executable, "-m", "benchmarks.processes"]


def on_paper(seconds: float, parameters: int, hosts: int, every: int = 1) -> dict[str, float]:
    """A step of the same minibatch by so many hosts, whose gradients are averaged every so often.

    The arithmetic is shared out evenly, and a ring of hosts sends every number twice.
    """
    work = seconds / hosts
    sent = 2 * (hosts - 1) / hosts * 4 * parameters
    talk = (sent / WIRE + 2 * math.log2(hosts) * LATENCY) / every
    return {"steps_per_second": 1 / (work + talk), "speedup": seconds / (work + talk)}


def main() -> None:
    if "--place" in sys.argv:
        index, count, address, batch, steps = sys.argv[sys.argv.index("--place") + 1 :]
        found = place(int(index), int(count), address, int(batch), int(steps))
        print(json.dumps(found))
        return
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    about, cores = provenance(), len(os.sched_getaffinity(0))
    rows, paper = [], []
    for batch in BATCHES:
        alone = 0.0
        for count in (1, 2, 4):
            if count > max(cores, 2):
                continue
            found = measure(count, batch, steps)
            alone = alone or found["seconds"]
            rows.append(
                {
                    "batch": batch,
                    "processes": count,
                    "steps_per_second": 1 / found["seconds"],
                    "speedup": alone / found["seconds"],
                    "bytes_per_step": found["wire"] / count if count > 1 else 0.0,
                }
            )
            print(rows[-1], file=sys.stderr)
        for hosts in (8, 64):
            for size, every in ((batch, 1), (10 * batch, 1), (batch, 10)):
                scaled = on_paper(alone * size / batch, int(found["parameters"]), hosts, every)
                paper.append({"batch": size, "hosts": hosts, "averaged_every": every, **scaled})
    result = {**about, "architecture": ARCHITECTURE, "cores": cores, "steps": steps}
    result |= {"rows": rows, "on_paper": paper}
    write_result("processes", result)
    PAGE.write_text(page(result), encoding="utf-8")


def page(result: dict[str, Any]) -> str:
    """docs/benchmarks-processes.md, made of results/benchmarks/processes.json."""
    lines = [
        "# One training by several processes",
        "",
        f"`python -m benchmarks.processes {result['steps']}` on {result['cpu']}, "
        f"{result['cores']} cores, one for each process, commit {result['commit']}: steps of "
        f"{result['architecture']} on {FEATURES} columns, K = 5, Adam.",
        "",
        "| batch | processes | steps a second | times one process | bytes sent by each in a step |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['batch']:,} | {row['processes']} | {row['steps_per_second']:.1f} "
        f"| {row['speedup']:.2f} | {row['bytes_per_step']:,.0f} |"
        for row in result["rows"]
    ]
    lines += [
        "",
        "## On paper: hosts on 10 Gbit",
        "",
        "Not measured. The arithmetic of one process is shared out evenly, and gradients go round "
        f"a ring at 10 Gbit with {LATENCY * 1e6:.0f} µs for each of 2 log₂ n messages. Larger "
        "batches and averaging less often (which is another algorithm) change the answer most.",
        "",
        "| batch | hosts | averaged every | steps a second | times one process |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['batch']:,} | {row['hosts']} | {_often(row['averaged_every'])} "
        f"| {row['steps_per_second']:.0f} | {row['speedup']:.1f} |"
        for row in result["on_paper"]
    ]
    return "\n".join(lines) + "\n"


def _often(steps: int) -> str:
    return "step" if steps == 1 else f"{steps} steps"


if __name__ == "__main__":
    main()
