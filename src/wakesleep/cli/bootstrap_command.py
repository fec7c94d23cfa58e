"""`wakesleep bootstrap`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from wakesleep.cli.run_options import DataFile
from wakesleep.errors import UsageError
from wakesleep.options import Count, Seed


@dataclass
class Bootstrap:
    """Bias and spread of few-sample estimates by the bootstrap: the paper's Figs. 1B and 2A.

    Writes bias.json and three figures into RUN/analysis.

    Example: wakesleep bootstrap runs/digits
    """

    run_folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A run folder."""
    split: Literal["train", "valid", "test"] = "test"
    """Which part of the data the points are drawn from."""
    points: Count = 25
    """How many points, drawn at random; the paper takes one minibatch."""
    primary: Count = 5000
    """Samples per point that stand for all."""
    replicates: Count = 100
    """Resampled runs per K."""
    seed: Seed = 3
    """Of the choice of points and the samples."""
    data: DataFile = None
    quiet: bool = False
    """No progress."""
    json: bool = False
    """Print a JSON object instead of a table."""

    def run(self) -> int:
        """Resample, and write the numbers and their figures."""
        import jax
        import numpy as np

        from wakesleep.atomic import write_atomically
        from wakesleep.cli.progress_bars import EvaluationProgress
        from wakesleep.evaluation import bias_variance
        from wakesleep.evaluation.bootstrap import COUNTS
        from wakesleep.report.bias_figures import bias_figures
        from wakesleep.runs.loading import load_run

        run = load_run(self.run_folder, self.data)
        data, rows = run.about_data, run.data.splits[self.split]
        if not 1 <= self.points <= len(rows):
            raise UsageError(f"--points must be from 1 to the {len(rows)} rows of {self.split}")
        chosen = np.random.default_rng(self.seed).choice(len(rows), self.points, replace=False)
        with EvaluationProgress("resampling", quiet=self.quiet or self.json) as progress:
            bias = bias_variance(
                run.single_machine,
                rows.take(np.sort(chosen)) if run.data.masked else rows[np.sort(chosen)],
                key=jax.random.key(self.seed),
                counts=[count for count in COUNTS if count <= self.primary],
                primary=self.primary,
                replicates=self.replicates,
                progress=progress,
            )
        about = {"data": data.name, "binarisation": data.binarisation, "split": self.split}
        numbers = {**about, "seed": self.seed, **bias.to_dict()}
        out = run.path / "analysis"
        write_atomically(out / "bias.json", json.dumps(numbers, indent=2).encode())
        for name, picture in bias_figures(numbers).items():
            write_atomically(out / name, picture)
        words = f"wrote {out}/bias.json, of {self.points} rows, and its figures"
        print(json.dumps(numbers) if self.json else words)
        return 0
