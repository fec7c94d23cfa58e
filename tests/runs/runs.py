"""Small runs that several tests make, and how two of them are compared."""

import jax
import numpy as np

from wakesleep.recipe import Recipe
from wakesleep.runs.checkpoints import latest_checkpoint, load_checkpoint
from wakesleep.runs.config import DataConfig, RunConfig
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.start import RunOptions

SHORT = RunConfig(DataConfig("digits"), "sbn/sbn 2-4", 0, Recipe(epochs=3))
BARE = RunOptions(diagnostics=False)
EVERY_EPOCH = RunOptions(checkpoint_interval=0, diagnostics=False)


class StopAfter:
    """Options whose run is interrupted after some epochs."""

    def __init__(self, epochs):
        self.epochs = epochs
        self.seen = 0

    def __call__(self, event):
        self.seen += type(event).__name__ == "EpochDone"

    @property
    def options(self):
        stop = lambda: self.seen >= self.epochs  # noqa: E731
        return RunOptions((self,), stop, diagnostics=False)


def newest(path, data=None, model=None):
    """The newest snapshot of a run."""
    folder = RunFolder(path)
    config = folder.config()
    rows = (data or config.data.load()).train
    return load_checkpoint(latest_checkpoint(folder), config.recipe, rows, model)


def assert_same_arrays(one, other):
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)


def assert_same_run(one, other, data=None, model=None):
    """The same bits and the same history, but for how long it took."""
    assert_same_arrays(newest(one, data, model).arrays, newest(other, data, model).arrays)
    timing = {"seconds", "examples_per_second", "processor_seconds"}
    records = [
        [{k: v for k, v in r.items() if k not in timing} for r in RunFolder(path).records()]
        for path in (one, other)
    ]
    assert records[0] == records[1]
