"""A day's worth of epochs: memory, files and the time of an epoch stay what they were."""

import os
import resource
import time
from pathlib import Path

import numpy as np
import pytest

from wakesleep.recipe import Recipe
from wakesleep.runs.config import DataConfig, RunConfig
from wakesleep.runs.start import RunOptions, start_run

EPOCHS = 10_000


class Watch:
    """The resident memory, open files, files in the folder and clock after every epoch."""

    def __init__(self, folder):
        self.folder = folder
        self.seen = []

    def __call__(self, event):
        if type(event).__name__ == "EpochDone":
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            files = sum(len(names) for _, _, names in os.walk(self.folder))
            resident = pages * resource.getpagesize()
            opened = len(list(Path("/proc/self/fd").iterdir()))
            self.seen.append((resident, opened, files, time.monotonic()))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_ten_thousand_epochs_are_flat(tmp_path):
    np.save(tmp_path / "own.npy", np.random.default_rng(0).integers(0, 2, (30, 4), np.uint8))
    recipe = Recipe(epochs=EPOCHS, batch_size=24, validation_samples=2)
    config = RunConfig(DataConfig(str(tmp_path / "own.npy")), "sbn/sbn 2", 0, recipe)
    watch = Watch(tmp_path / "run")
    options = RunOptions((watch,), checkpoint_interval=1.0, diagnostics=False)
    start_run(tmp_path / "run", config, options)
    resident, descriptors, files, clock = map(np.array, zip(*watch.seen, strict=True))
    early, late = slice(1000, 3000), slice(8000, 10_000)
    # The history in memory is some hundred bytes an epoch.
    assert np.median(resident[late]) - np.median(resident[early]) < 30 << 20
    assert descriptors[late].max() <= descriptors[early].max() + 2
    assert files[late].max() <= files[early].max() + 2
    lasted = np.diff(clock)
    assert np.median(lasted[late]) < 1.5 * np.median(lasted[early])
    print(
        f"resident +{(np.median(resident[late]) - np.median(resident[early])) / 1e6:.1f} MB, "
        f"{files[late].max()} files, {1e3 * np.median(lasted[early]):.2f} ms an epoch early and "
        f"{1e3 * np.median(lasted[late]):.2f} ms late"
    )
