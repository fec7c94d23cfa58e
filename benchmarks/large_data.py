"""Memory and speed of training on 20 million rows of 512 bits, mapped from a file and in memory.

    python -m benchmarks.large_data

The set (1.3 GB packed) is generated in a temporary folder. Each way of training runs in processes
of its own, by turns: `memory` holds all rows, `mapped` reads them from the file, which the
system's cache holds, and `evicted` from the disk: the file is thrown out of the cache after every
call of 500 steps, as if the machine had no room for it. Speed is the median over calls, after the
first, of which compilation and the permutation are part. The processor time of a step is given
beside it, because it depends less on what else the machine does.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.machine import provenance, write_result
from wakesleep.architecture import build
from wakesleep.data import Dataset, PackedBits, load_dataset, write_packed
from wakesleep.data.mapping import read
from wakesleep.recipe import Recipe
from wakesleep.training import fit
from wakesleep.training.events import Event, Stepped

ROWS, FEATURES = 20_000_000, 512
ROWS_PER_BLOCK = 200_000
ARCHITECTURE = "sbn/sbn 20-100"
RECIPE = Recipe(batch_size=100, estimator={"samples": 5})
CALLS = 7
REPETITIONS = 3
WAYS = ("memory", "mapped", "evicted")


@dataclass
class Stopwatch:
    """Stops training after some calls and knows how long each took."""

    path: Path
    evicting: bool
    steps: list[int] = field(default_factory=lambda: [0])
    began: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        if isinstance(event, Stepped):
            self.ended.append(time.perf_counter())
            self.steps.append(event.steps_done)
            if self.evicting:
                evict(self.path)
            self.processor.append(time.process_time())
            self.began.append(time.perf_counter())

    def enough(self) -> bool:
        return len(self.ended) == CALLS

    def steps_per_second(self) -> float:
        """The median over all calls but the first, without the time that evicting took."""
        done = np.diff(self.steps)[1:]
        seconds = np.subtract(self.ended[1:], self.began[:-1])
        return statistics.median((done / seconds).tolist())

    def processor_ms_per_step(self) -> float:
        """Of all threads of this process, the median over the same calls."""
        spent = np.diff(self.processor) / np.diff(self.steps)[1:]
        return 1e3 * statistics.median(spent.tolist())


def evict(path: Path) -> None:
    """Throw a file out of the system's cache."""
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def blocks() -> Iterator[PackedBits]:
    random = np.random.default_rng(0)
    for _ in range(ROWS // ROWS_PER_BLOCK):
        shape = (ROWS_PER_BLOCK, FEATURES // 8)
        yield PackedBits(random.integers(0, 256, shape, np.uint8), FEATURES)


def resident_mb(what: str) -> float:
    """`VmRSS`, memory that is resident now, or `VmHWM`, the most that ever was."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{what}:")[1].split()[0]) / 1024


def train(path: Path, way: str) -> dict[str, float]:
    """Memory and speed of a few calls of the compiled loop, in this process."""
    jnp.zeros(1).block_until_ready()
    idle = resident_mb("VmRSS")
    data = load_dataset(path)
    if way == "memory":
        data = in_memory(data)
    mean = jnp.asarray(data.train.smoothed_mean(), jnp.float32)
    model = build(ARCHITECTURE, FEATURES, key=jax.random.key(0)).with_visible_mean(mean)
    watch = Stopwatch(path, way == "evicted")
    fit(model, data, RECIPE, observers=[watch], should_stop=watch.enough, progress=False)
    return {
        "idle_mb": idle,
        "peak_above_idle_mb": resident_mb("VmHWM") - idle,
        "steps_per_second": watch.steps_per_second(),
        "processor_ms_per_step": watch.processor_ms_per_step(),
    }


def in_memory(data: Dataset) -> Dataset:
    rows = np.empty(data.train.rows.shape, np.uint8)
    for start in range(0, ROWS, ROWS_PER_BLOCK):
        part = slice(start, start + ROWS_PER_BLOCK)
        rows[part] = read(data.train.rows, part)
    return replace(data, train=PackedBits(rows, FEATURES))


def measure(path: Path, way: str) -> dict[str, float]:
    """The same in a process of its own."""
    run = [sys.executable, "-m", "benchmarks.large_data", way, str(path)]
    found = subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(found)


def summary(runs: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    def medians(what: str) -> dict[str, float]:
        return {way: statistics.median(run[what] for run in runs[way]) for way in runs}

    speeds = medians("steps_per_second")
    return {
        "steps_per_second": speeds,
        "processor_ms_per_step": medians("processor_ms_per_step"),
        "mapped_over_memory_speed": speeds["mapped"] / speeds["memory"],
        "evicted_over_memory_speed": speeds["evicted"] / speeds["memory"],
        "peak_above_idle_mb": {
            way: max(run["peak_above_idle_mb"] for run in found) for way, found in runs.items()
        },
    }


def main() -> None:
    about = provenance()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.safetensors"
        began = time.perf_counter()
        write_packed(path, {"train": blocks()})
        written = time.perf_counter() - began
        file_mb = path.stat().st_size / 2**20
        runs: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
        for _ in range(REPETITIONS):
            for way in WAYS:
                runs[way].append(measure(path, way))
                print(way, runs[way][-1], file=sys.stderr)
    found = {
        "rows": ROWS,
        "features": FEATURES,
        "file_mb": file_mb,
        "seconds_to_write": written,
        "architecture": ARCHITECTURE,
        "batch": RECIPE.batch_size,
        "samples": RECIPE.samples,
        **summary(runs),
    }
    print(json.dumps(found, indent=2), file=sys.stderr)
    write_result("large_data", {**about, **found, "runs": runs, "load_after": os.getloadavg()[0]})


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(train(Path(sys.argv[2]), sys.argv[1])))
    else:
        main()
