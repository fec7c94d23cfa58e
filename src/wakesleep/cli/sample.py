"""`wakesleep sample`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wakesleep.cli.preview import Preview
from wakesleep.cli.run_options import DataFile, RunPath
from wakesleep.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from wakesleep.data import Dataset

TABLES = (".npy", ".csv")
PICTURES = (".png", ".svg")


@dataclass
class Sample:
    """Draw from a run's model: a picture for image data, a table of bits otherwise."""

    run_folder: RunPath
    out: Path = Path("samples.png")
    """A grid of images as .png or .svg, or a table of bits as .npy or .csv."""
    count: int = 100
    """How many."""
    probabilities: bool = False
    """The probability each bit is drawn with, as the paper's figures show it, not the bit."""
    preview: Preview = "auto"
    """Also show images in the terminal; auto does where there is no screen."""
    seed: int = 2
    """Of the samples."""
    data: DataFile = None

    def run(self) -> int:
        """Draw and write."""
        import jax

        from wakesleep.cli.progress_bars import working
        from wakesleep.models import sample, sample_means
        from wakesleep.runs.loading import load_run

        if self.count < 1:
            raise UsageError(f"--count must be 1 or more, not {self.count}")
        if self.out.suffix not in PICTURES + TABLES:
            valid = ", ".join(PICTURES + TABLES)
            raise UsageError(f"--out must end in one of {valid}, not '{self.out.name}'")
        run = load_run(self.run_folder, self.data)
        data = run.about_data.without_rows() if self.out.suffix in PICTURES else None
        draw = sample_means if self.probabilities else sample
        with working("drawing"):
            x = draw(run.machine, self.count, key=jax.random.key(self.seed))
        if data is None:
            self._write_table(x)
        else:
            self._write_picture(x, data)
        print(f"wrote {self.count} samples to {self.out}")
        return 0

    def _write_picture(self, x: "np.ndarray", data: "Dataset") -> None:
        from wakesleep.cli.preview import show_in_terminal
        from wakesleep.pictures import save_grid

        images = data.images(x)
        save_grid(self.out, images, inverted=data.inverted)
        show_in_terminal(images, self.preview, inverted=data.inverted)

    def _write_table(self, x: "np.ndarray") -> None:
        import numpy as np

        self.out.parent.mkdir(parents=True, exist_ok=True)
        if self.out.suffix == ".npy":
            np.save(self.out, x)
        else:
            np.savetxt(self.out, x, fmt="%d" if x.dtype == np.uint8 else "%.6f", delimiter=",")
