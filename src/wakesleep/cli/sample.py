"""`wakesleep sample`."""

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wakesleep.cli.new_rows_output import write_result
from wakesleep.cli.preview import Preview
from wakesleep.cli.run_options import DataFile, Overwrite, RunPath, check_new
from wakesleep.errors import UsageError
from wakesleep.options import Count, Seed

if TYPE_CHECKING:
    import numpy as np

    from wakesleep.data import Dataset
    from wakesleep.runs.loading import Run
    from wakesleep.schema import Frame, Schema

TABLES = (".npy", ".csv")
PICTURES = (".png", ".svg")


@dataclass
class Sample:
    """Draw from a run's model: rows of a table, a picture for image data, or bits.

    Example: wakesleep sample runs/survey --given "region=north,age=30..40" --out new.csv
    """

    run_folder: RunPath
    out: Path | None = None
    """For a table with names .csv, .tsv, .csv.gz, .parquet or .feather, samples.csv unless given;
    otherwise a grid of images as .png or .svg, samples.png unless given, or bits as .npy or .csv.
    """
    count: Count = 100
    """How many."""
    given: str | None = None
    """Conditions on a table's columns, such as "region=north|south,age=30..40": levels, numbers,
    ranges (also ..40 and 30..), dates, missing, not missing. All samples fulfil them."""
    samples: Count = 100
    """With --given: the most samples that are weighted for each row."""
    gaps: bool = False
    """Leave cells of a table empty, in patterns like those of the training rows."""
    probabilities: bool = False
    """The probability each bit is drawn with, as the paper's figures show it, not the bit."""
    preview: Preview = "auto"
    """Also show images in the terminal; auto does where there is no screen."""
    seed: Seed = 2
    """Of the samples."""
    data: DataFile = None
    overwrite: Overwrite = False

    def run(self) -> int:
        """Draw and write."""
        import jax

        from wakesleep.cli.progress_bars import working
        from wakesleep.models import sample_bits, sample_means
        from wakesleep.runs.loading import load_run

        if self.count < 1:
            raise UsageError(f"--count must be 1 or more, not {self.count}")
        run = load_run(self.run_folder, self.data)
        out = self.out or Path("samples.png" if run.schema is None else "samples.csv")
        named = run.schema is not None and out.suffix != ".npy"
        self._check(out, named=named)
        check_new(out, overwrite=self.overwrite)
        if self.given is not None:
            return self._sample_given(run, out)
        draw = sample_means if self.probabilities else sample_bits
        with working("drawing"):
            x = draw(run.machine, self.count, key=jax.random.key(self.seed))
        if run.schema is not None and named:
            self._write_rows(run.schema, run.schema.decode(x, self.seed), out)
        elif out.suffix in PICTURES:
            self._write_picture(out, x, run.about_data.without_rows())
        else:
            self._write_bits(out, x)
        print(f"wrote {self.count} {'rows' if named else 'samples'} to {out}")
        return 0

    def _sample_given(self, run: "Run", out: Path) -> int:
        """Rows that fulfil conditions."""
        import jax

        from wakesleep.cli.progress_bars import working
        from wakesleep.inference.sample_rows import frame_given
        from wakesleep.models import TableModel

        if run.schema is None or out.suffix == ".npy":
            raise UsageError("--given is for tables with names, written to a table such as new.csv")
        table, keys = TableModel(run.machine, run.schema), (jax.random.key(self.seed), self.seed)
        with working("drawing"):
            frame, drawn = frame_given(
                table, self.count, self.given or "", keys=keys, samples=self.samples
            )
        self._write_rows(run.schema, frame, out)
        share = math.exp(drawn.log_probability)
        print(
            f"wrote {self.count} rows to {out}; the conditions hold in {share:.2%} of the model's "
            "own rows"
        )
        if drawn.unreliable:
            print(
                "few samples had any weight, so that many rows are nearly the same: give more "
                "--samples, or fewer conditions",
                file=sys.stderr,
            )
        return 0

    def _write_rows(self, schema: "Schema", frame: "Frame", out: Path) -> None:
        from wakesleep.inference.sample_rows import with_gaps

        if self.gaps:
            # Apart from the seed of the numbers' places, which is the same number.
            frame = with_gaps(schema, frame, (self.seed, 1), self.given)
        write_result(frame, out)

    def _check(self, out: Path, *, named: bool) -> None:
        if self.samples < 1:
            raise UsageError(f"--samples must be 1 or more, not {self.samples}")
        if self.gaps and not named:
            raise UsageError("--gaps is for tables with names, written to a table such as new.csv")
        if named and self.probabilities:
            raise UsageError("--probabilities are those of bits: give an --out that ends in .npy")
        if not named and out.suffix not in PICTURES + TABLES:
            valid = ", ".join(PICTURES + TABLES)
            raise UsageError(f"--out must end in one of {valid}, not '{out.name}'")

    def _write_picture(self, out: Path, x: "np.ndarray", data: "Dataset") -> None:
        from wakesleep.cli.preview import show_in_terminal
        from wakesleep.pictures import save_grid

        images = data.images(x)
        save_grid(out, images, inverted=data.inverted)
        show_in_terminal(images, self.preview, inverted=data.inverted)

    def _write_bits(self, out: Path, x: "np.ndarray") -> None:
        import numpy as np

        out.parent.mkdir(parents=True, exist_ok=True)
        if out.suffix == ".npy":
            np.save(out, x)
        else:
            np.savetxt(out, x, fmt="%d" if x.dtype == np.uint8 else "%.6f", delimiter=",")
