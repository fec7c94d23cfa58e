"""What checkpoints and digests cost of a training's time.

    python -m benchmarks.checkpoints [--seconds 60] [--model "sbn/sbn 200-200-200"]

Trains on data of MNIST's size with the interval between checkpoints that everybody has, and adds up
the time in `Checkpointer.save` (a snapshot, the best model, their digests and fsyncs) and in
`record_data` (the digests of all rows, once per run).
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.machine import provenance
from wakesleep.recipe import Recipe
from wakesleep.runs import start
from wakesleep.runs.checkpoints import Checkpointer
from wakesleep.runs.config import DataConfig, RunConfig


class Timed:
    """A function with the time it took."""

    def __init__(self, function):
        self.function, self.seconds, self.calls = function, 0.0, 0

    def __call__(self, *arguments, **options):
        began = time.perf_counter()
        try:
            return self.function(*arguments, **options)
        finally:
            self.seconds += time.perf_counter() - began
            self.calls += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--model", default="sbn/sbn 200-200-200")
    given = parser.parse_args()
    rows = np.random.default_rng(0).integers(0, 2, (60_000, 784), np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, train=np.packbits(rows, axis=1), n_features=784)
        recipe = Recipe(epochs=10**6, processor_seconds=given.seconds)
        config = RunConfig(DataConfig(str(path)), given.model, 0, recipe)
        save = Timed(Checkpointer.save)
        digest = Timed(start.record_data)
        with (
            patch.object(Checkpointer, "save", lambda self, snapshot: save(self, snapshot)),
            patch.object(start, "record_data", digest),
        ):
            began = time.perf_counter()
            result = start.start_run(
                Path(folder) / "run", config, start.RunOptions(diagnostics=False)
            )
            whole = time.perf_counter() - began
    print(
        json.dumps(
            {
                "training_seconds": round(whole, 2),
                "epochs": len(result.history),
                "checkpoints": save.calls,
                "checkpoint_seconds": round(save.seconds, 3),
                "digest_seconds": round(digest.seconds, 3),
                "percent": round(100 * (save.seconds + digest.seconds) / whole, 3),
                **provenance(),
            }
        )
    )


if __name__ == "__main__":
    main()
