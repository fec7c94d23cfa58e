"""`wakesleep sample`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from wakesleep.errors import UsageError


@dataclass
class Sample:
    """Draw from a run's model: a picture for image data, a table of bits otherwise."""

    run_folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A run folder."""
    out: Path = Path("samples.png")
    """A .png grid of images, or a table of bits as .npy or .csv."""
    count: int = 100
    """How many."""
    probabilities: bool = False
    """In a picture, show the probability each pixel is drawn with, as the paper does."""
    seed: int = 2
    """Of the samples."""

    def run(self) -> int:
        """Draw and write."""
        import jax
        import numpy as np

        from wakesleep.model import sample, sample_means
        from wakesleep.report.pictures import save_grid
        from wakesleep.storage import load_model
        from wakesleep.training.folder import RunFolder

        if self.count < 1:
            raise UsageError(f"--count must be 1 or more, not {self.count}")
        if self.out.suffix not in (".png", ".npy", ".csv"):
            raise UsageError(f"--out must end in .png, .npy or .csv, not '{self.out.name}'")
        folder = RunFolder(self.run_folder)
        config = folder.config()
        model = load_model(folder.model_path)
        key = jax.random.key(self.seed)
        draw = sample_means if self.probabilities else sample
        x = draw(model, self.count, key=key)
        self.out.parent.mkdir(parents=True, exist_ok=True)
        if self.out.suffix == ".png":
            data = config.data.load()
            save_grid(self.out, data.images(x), inverted=data.inverted)
        elif self.out.suffix == ".npy":
            np.save(self.out, x)
        else:
            np.savetxt(self.out, x, fmt="%d" if x.dtype == np.uint8 else "%.6f", delimiter=",")
        print(f"wrote {self.count} samples to {self.out}")
        return 0
