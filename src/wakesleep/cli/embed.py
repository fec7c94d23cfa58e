"""`wakesleep embed`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wakesleep.cli.new_rows_output import say_notes, write_result
from wakesleep.cli.run_options import DataFile, NewFile, RunPath
from wakesleep.errors import UsageError


@dataclass
class Embed:
    """Write the posterior means of the latent units for the rows of another file: features.

    Column h1_3 is the third unit of the layer next to the data; a row's numbers depend on that
    row alone.
    """

    run_folder: RunPath
    file: NewFile
    out: Path = Path("features.csv")
    """A table: .csv, .tsv, .csv.gz, .parquet or .feather."""
    samples: int = 200
    """K, latents drawn from q per row."""
    seed: int = 0
    """Of the samples."""
    unseen: Literal["error", "missing"] = "error"
    """Levels that training never saw, where there is none for others: refuse the file, or take
    the cells for missing."""
    data: DataFile = None
    quiet: bool = False
    """Do not say what was written."""
    json: bool = False
    """Print a JSON object instead of sentences."""

    def run(self) -> int:
        """Infer and write."""
        import jax

        from wakesleep.cli.progress_bars import working
        from wakesleep.inference.posterior import infer_rows
        from wakesleep.runs.loading import load_run
        from wakesleep.runs.new_rows import read_new_rows

        if self.samples < 1:
            raise UsageError(f"--samples must be 1 or more, not {self.samples}")
        run = load_run(self.run_folder, self.data)
        sizes = run.machine.hidden_sizes
        if not sizes:
            raise UsageError(f"{self.run_folder} holds a model without latents: nothing to embed")
        new = read_new_rows(run, self.file, unseen=self.unseen)
        with working("inferring"):
            key = jax.random.key(self.seed)
            means = infer_rows(run.machine, new.rows, self.samples, key).means
        names = [f"h{layer}_{unit}" for layer, n in enumerate(sizes, 1) for unit in range(1, n + 1)]
        write_result(new.named(dict(zip(names, means.T, strict=True))), self.out)
        if self.json:
            about = {"rows": len(new), "features": len(names), "written": str(self.out)}
            print(json.dumps({**about, "notes": list(new.notes)}))
        elif not self.quiet:
            say_notes(new.notes)
            print(f"wrote {len(names)} features of {len(new)} rows to {self.out}")
        return 0
