"""One training by several processes: steps per second and bytes on the wire, one core each.

    python -m benchmarks.processes [STEPS]

Each process is pinned to a core of its own, so that there are at most as many as the machine has
cores. Bytes do not depend on how fast a step is, so that they are counted for four processes on any
machine (Linux alone counts them). What 8 and 64 hosts would do is worked out from these numbers,
not measured.
"""

import contextlib
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import provenance, write_result

ARCHITECTURE, FEATURES = "sbn/sbn 200-200-200", 784
BATCHES = (100, 1000)
SPLITS = ((1, 1), (1, 2), (2, 2), (4, 4))
"""Processes, and shares of a minibatch."""
STEPS = 200
"""Of one repetition at the smallest minibatch; fewer at larger ones, for the same rows."""
REPETITIONS = 5
STEPS_TO_COUNT_BYTES = 10
HOSTS = (8, 64)
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks-processes.md"
WIRE = 10e9 / 8
"""Bytes a second of 10 Gbit."""
BYTES_SENT, BYTES_SENT_AT = struct.Struct("=QQ"), 200
"""`tcpi_bytes_sent` and `tcpi_bytes_retrans` in Linux's `struct tcp_info`."""
LATENCY = 50e-6
"""Seconds that a message between two hosts of one room takes besides its bytes."""


def place(index: int, split: tuple[int, int], address: str, batch: int, steps: int) -> Any:
    """What one process measures."""
    count, cut = split
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
    recipe = Recipe(batch_size=batch, shares=cut)
    model = build(ARCHITECTURE, FEATURES, key=jax.random.key(0))
    start = TrainState(model, model, start_optimiser(model, recipe), jnp.zeros((), jnp.int32), ())
    rng = np.random.default_rng(index)
    rows = jnp.asarray(rng.integers(0, 256, (steps, batch // count, FEATURES // 8), np.uint8))
    numbers = jnp.zeros((steps, batch // count), jnp.int32)
    rest = team.everywhere((jnp.full(steps, 1e-3), jax.random.key(1), jnp.asarray(0)))
    inputs = StepInputs(*team.shared_rows((rows, numbers)), *rest)
    config = step_config(recipe, UnpackBits(FEATURES), team.mesh)
    state, none, all_ = team.everywhere((start, jnp.asarray(0), jnp.asarray(steps)))
    jax.block_until_ready(team.together(run_steps, state, inputs, none, config))
    seconds, carried = [], []
    for _ in range(REPETITIONS):
        team.by_all(None)
        before, began = sent(), time.perf_counter()
        jax.block_until_ready(team.together(run_steps, state, inputs, all_, config))
        seconds.append((time.perf_counter() - began) / steps)
        carried.append((sent() - before) / steps)
    team.close()
    parameters = sum(leaf.size for leaf in jax.tree.leaves(model))
    return {"seconds": seconds, "sent": statistics.median(carried), "parameters": parameters}


def sent() -> int:
    """Bytes that this process has sent by TCP, without headers and repetitions, by the kernel."""
    total = 0
    for path in Path("/dev/fd").iterdir():
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(path.name))) as each:
            size = BYTES_SENT_AT + BYTES_SENT.size
            info = each.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, size)
            once, again = BYTES_SENT.unpack_from(info, BYTES_SENT_AT)
            total += once - again
    return total


def measure(split: tuple[int, int], batch: int, steps: int) -> dict[str, Any]:
    """What process 0 measures."""
    from wakesleep.processes.place import free_address

    cores = sorted(os.sched_getaffinity(0))
    count, cut = split
    words = [str(count), str(cut), free_address(), str(batch), str(steps)]
    started = [
        subprocess.Popen(
            [*pinned(cores[i % len(cores)]), "--place", str(i), *words],
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(count)
    ]
    printed = [each.communicate()[0] for each in started]
    if any(each.returncode for each in started):
        raise SystemExit(f"{count} processes could not be measured")
    found: dict[str, Any] = json.loads(printed[0])
    return found


def pinned(core: int) -> list[str]:
    return ["taskset", "-c", str(core), sys.executable, "-m", "benchmarks.processes"]


def measured(steps: int, cores: int) -> tuple[list[dict[str, Any]], int]:
    """A row for each minibatch and number of processes, and the model's number of parameters."""
    rows: list[dict[str, Any]] = []
    for batch in BATCHES:
        alone = 0.0
        for count, cut in SPLITS:
            timed = count <= cores
            few = max(1, steps * BATCHES[0] // batch)
            found = measure((count, cut), batch, few if timed else STEPS_TO_COUNT_BYTES)
            parameters = int(found["parameters"])
            row: dict[str, Any] = {"batch": batch, "processes": count, "shares": cut}
            row |= {"bytes_per_step": 0.0, "by_arithmetic": 0.0}
            if count > 1:
                row |= {"bytes_per_step": found["sent"]}
                row |= {"by_arithmetic": sent_by_each(4 * parameters, count)}
            if timed:
                one = statistics.median(found["seconds"])
                alone = alone or one
                row |= {"steps_per_second": 1 / one, "speedup": alone / one}
                row |= {"slowest": 1 / max(found["seconds"]), "fastest": 1 / min(found["seconds"])}
            rows.append(row)
            print(row, file=sys.stderr)
    return rows, parameters


def sent_by_each(size: float, count: int) -> float:
    """Bytes that each of so many processes sends: a piece of its own array to each of the others,
    which adds them, and the sum of its own piece to each."""
    return 2 * (count - 1) / count * size


def step_time(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Seconds of a step of one process: for the step itself, and for each row of its minibatch."""
    (small, quick), (large, slow) = (
        (row["batch"], 1 / row["steps_per_second"]) for row in rows if row["shares"] == 1
    )
    each = (slow - quick) / (large - small)
    return max(0.0, quick - each * small), each


def on_paper(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Steps that hosts would take, with what one process and two were measured to need."""
    fixed, each = step_time(rows)
    size = max(row["bytes_per_step"] for row in rows if row["processes"] == 2)
    found = []
    for hosts in HOSTS:
        for batch, every in [(b, e) for b in (*BATCHES, 10 * BATCHES[-1]) for e in (1, 10)]:
            batch = -(-batch // hosts) * hosts
            talk = sent_by_each(size, hosts) / WIRE + 2 * (hosts - 1) * LATENCY
            seconds = fixed + each * batch / hosts + talk / every
            row = {"hosts": hosts, "batch": batch, "averaged_every": every}
            row |= {"steps_per_second": 1 / seconds, "talking": talk / every / seconds}
            found.append({**row, "speedup": (fixed + each * batch) / seconds})
    return found


def main() -> None:
    if "--place" in sys.argv:
        index, count, cut, address, batch, steps = sys.argv[sys.argv.index("--place") + 1 :]
        found = place(int(index), (int(count), int(cut)), address, int(batch), int(steps))
        print(json.dumps(found))
        return
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    about, cores = provenance(), len(os.sched_getaffinity(0))
    rows, parameters = measured(steps, cores)
    fixed, each = step_time(rows)
    result = {**about, "architecture": ARCHITECTURE, "parameters": parameters, "cores": cores}
    result |= {"steps": steps, "repetitions": REPETITIONS, "rows": rows}
    result |= {"seconds_per_step": fixed, "seconds_per_row": each, "on_paper": on_paper(rows)}
    write_result("processes", result)
    PAGE.write_text(page(result), encoding="utf-8")


def page(result: dict[str, Any]) -> str:
    """docs/benchmarks-processes.md, made of results/benchmarks/processes.json."""
    ms, us = 1e3 * result["seconds_per_step"], 1e6 * result["seconds_per_row"]
    return f"""# One training by several processes

Written by `{result["command"]}` with `results/benchmarks/processes.json`, at commit
{result["commit"]} on {result["cpu"]}, load {result["load_before"]} before; Python
{result["python"]}, JAX {result["jax"]}. `{result["architecture"]}` on {FEATURES} columns, K = 5,
Adam. Each process has a core of its own, so that there are at most {result["cores"]} here. Steps a
second are the median of {result["repetitions"]} times {result["steps"]} steps (fewer at the larger
batch), with the slowest and the fastest. [How to train so](howto/cluster.md).

| batch | processes | shares | steps a second | times one | bytes each sends | by arithmetic |
|---|---|---|---|---|---|---|
{_lines(result["rows"], _measured_line)}

Bytes are what the kernel counted as sent by TCP, without headers and repetitions. By arithmetic:
of {result["parameters"]:,} numbers of four bytes each of n processes sends 2 (n - 1) / n: every
process adds up a piece of the shares' gradients, and sends the sum to all. The bytes of more
processes than cores are counted, their steps are not timed.

## On paper: hosts on 10 Gbit

Not measured. One process takes {ms:.2f} ms for a step and {us:.1f} µs more for each row of its
minibatch (a line through the two batches above). Hosts share out the rows and not the rest, such
as the update of all parameters. Each of n hosts sends the bytes above at 10 Gbit a second, in
2 (n - 1) messages of {LATENCY * 1e6:.0f} µs each, while nothing is computed. A minibatch is the
next multiple of the hosts.

| hosts | batch | averaged every | steps a second | times one process | time spent on the wire |
|---|---|---|---|---|---|
{_lines(result["on_paper"], _paper_line)}

What would change it: larger minibatches, whose arithmetic grows while the bytes do not; and
averaging less often, which is another algorithm (each host takes steps of its own in between) and
is not in this package. A faster network shortens the bytes' part; the messages' part is left,
{_messages()}.
"""


def _lines(rows: list[dict[str, Any]], line: Any) -> str:
    return "\n".join(map(line, rows))


def _measured_line(row: dict[str, Any]) -> str:
    speed = "not timed | "
    if "speedup" in row:
        spread = f"{row['slowest']:.1f} to {row['fastest']:.1f}"
        speed = f"{row['steps_per_second']:.1f} ({spread}) | {row['speedup']:.2f}"
    sent = f"{row['bytes_per_step']:,.0f} | {row['by_arithmetic']:,.0f}"
    return f"| {row['batch']:,} | {row['processes']} | {row['shares']} | {speed} | {sent} |"


def _paper_line(row: dict[str, Any]) -> str:
    often = "step" if row["averaged_every"] == 1 else f"{row['averaged_every']} steps"
    speed = f"{row['steps_per_second']:.0f} | {row['speedup']:.1f} | {row['talking']:.0%}"
    return f"| {row['hosts']} | {row['batch']:,} | {often} | {speed} |"


def _messages() -> str:
    times = (f"{2e3 * (hosts - 1) * LATENCY:.1f} ms for {hosts} hosts" for hosts in HOSTS)
    return " and ".join(times)


if __name__ == "__main__":
    main()
