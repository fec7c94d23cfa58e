"""What `wakesleep info --cost` foretells against trainings: time of an update, and memory.

    python -m benchmarks.cost

For every architecture the command is run as a person would, and then an epoch is trained in a
process of its own, after a first one of which compiling is part. A foretelling is off by the
larger of foretold / measured and its inverse, minus one; the goal is 30%.
"""

import argparse
import json
import resource
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks.machine import provenance, write_result
from wakesleep.data import Dataset, PackedBits
from wakesleep.recipe import Recipe
from wakesleep.training import fit
from wakesleep.training.events import EpochDone, Event

ARCHITECTURES = (
    "sbn/sbn 200-200-200",
    "darn/darn 200",
    "nade/nade 200",
    "nade|sbn/nade|sbn 50-200",
    "nade(hidden=500)",
)
FEATURES, ROWS = 784, 30_000
"""Rows of MNIST's size and, nearly, share of ones; 300 updates an epoch by the default recipe."""
REPETITIONS = 3
GOAL = 0.3


def train(architecture: str) -> dict[str, float]:
    """Seconds of an update in the second epoch, and the process's largest resident bytes."""
    # One bit of eight, as the bits that three random bytes have in common.
    random = np.random.default_rng(0).integers(0, 256, (3, ROWS, FEATURES // 8), np.uint8)
    rows = PackedBits(np.bitwise_and.reduce(random), FEATURES)
    seconds: list[float] = []

    def watch(event: Event) -> None:
        if isinstance(event, EpochDone):
            seconds.append(event.record.seconds)

    recipe = Recipe(epochs=2)
    none = PackedBits(rows.rows[:0], FEATURES)
    data = Dataset("random", rows, none, none, "random")
    fit(architecture, data, recipe, observers=[watch], progress=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"step_seconds": seconds[-1] * recipe.batch_size / ROWS, "memory": peak}


def run(*words: str) -> dict[str, Any]:
    """What a command of this environment's Python prints."""
    done = subprocess.run([sys.executable, "-m", *words], check=True, stdout=subprocess.PIPE)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def row(architecture: str) -> dict[str, Any]:
    asked = ("--cost", architecture, "--features", str(FEATURES), "--rows", str(ROWS))
    foretold = median([run("wakesleep", "info", "--json", *asked) for _ in range(REPETITIONS)])
    measured = median([run("benchmarks.cost", "--train", architecture) for _ in range(REPETITIONS)])
    off = {name: error(foretold[name], measured[name]) for name in measured}
    met = all(value <= GOAL for value in off.values())
    found = {"foretold": foretold, "measured": measured, "off": off, "met": met}
    return {"architecture": architecture, **found}


def median(results: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.median([one[name] for one in results])) for name in results[0]}


def error(foretold: float, measured: float) -> float:
    return max(foretold / measured, measured / foretold) - 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--train", metavar="ARCHITECTURE", help="train it in this process alone")
    options = parser.parse_args()
    if options.train:
        print(json.dumps(train(options.train)))
        return
    about, rows = provenance(), []
    for architecture in ARCHITECTURES:
        rows.append(row(architecture))
        print(line(rows[-1]), file=sys.stderr)
    write_result("cost", {**about, "features": FEATURES, "training_rows": ROWS, "rows": rows})


def line(row: dict[str, Any]) -> str:
    foretold, measured, off = row["foretold"], row["measured"], row["off"]
    return (
        f"{row['architecture']:26} {1e3 * foretold['step_seconds']:7.2f} ms foretold, "
        f"{1e3 * measured['step_seconds']:7.2f} measured ({off['step_seconds']:.0%} off); "
        f"{foretold['memory'] / 1e6:5.0f} MB, {measured['memory'] / 1e6:5.0f} ({off['memory']:.0%})"
    )


if __name__ == "__main__":
    main()
