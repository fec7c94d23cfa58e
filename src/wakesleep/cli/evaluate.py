"""`wakesleep evaluate`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from wakesleep.cli.cluster_options import ClusterOptions
from wakesleep.cli.run_options import DataFile, Overwrite, RunPath, check_new
from wakesleep.errors import UsageError
from wakesleep.options import Count, Fraction, Gigabytes, Seed, Tolerance
from wakesleep.runs.yardstick_words import gains


@dataclass
class Evaluate:
    """Estimate a run's log-likelihood on a split of its data, with error bars.

    An interrupted evaluation goes on where it stopped when the same command is given again.

    Example: wakesleep evaluate runs/survey --samples 1000
    """

    run_folder: RunPath
    samples: Count = 1000
    """K, latents drawn from q per example; with --tolerance, the most an example may take."""
    split: Literal["train", "valid", "test"] = "test"
    """Which part of the data."""
    tolerance: Tolerance = None
    """Leave an example when its standard error and bias are below this many nats; where q's
    samples cannot bring that, go on with annealed runs."""
    defensive: Annotated[float, Fraction()] = 0.1
    """The share of samples that is not q's but a broadened q's and dreams', so that no mode of the
    posterior is missed silently; 0 for q alone."""
    method: Literal["importance", "combined", "exact"] = "importance"
    """combined takes all combinations of the samples of a machine's layers, all of them q's; exact
    lists every latent state of a machine of up to about 20 latent bits."""
    memory: Gigabytes = 2.0
    """Gigabytes to stay within."""
    data: DataFile = None
    out: Path | None = None
    """Also write every example's numbers to this .npz or .csv file."""
    overwrite: Overwrite = False
    seed: Seed = 1
    """Of the samples."""
    quiet: bool = False
    """No progress."""
    json: bool = False
    """Print a JSON object instead of a table."""
    cluster: ClusterOptions = field(default_factory=ClusterOptions)

    def run(self) -> int:
        """Evaluate, print, and keep the result in the run folder."""
        from wakesleep.cli.progress_bars import EvaluationProgress
        from wakesleep.runs.loading import load_run
        from wakesleep.runs.run_evaluation import RunEvaluation

        if self.out and self.out.suffix not in (".npz", ".csv"):
            raise UsageError(f"--out must end in .npz or .csv, not '{self.out.name}'")
        check_new(self.out, overwrite=self.overwrite)
        evaluation = RunEvaluation(
            *(self.samples, self.split, self.tolerance, self.method, self.defensive),
            *(self.memory * 1e9, self.seed),
        )
        with EvaluationProgress("evaluating", quiet=self.quiet or self.json) as progress:
            run = load_run(self.run_folder, self.data)
            with self.cluster.used():
                score, summary = evaluation.of(run, progress)
        if self.out:
            about = run.data.table
            score.save(self.out, about.numbers[self.split] if about else None)
        if self.json:
            print(json.dumps(summary))
        else:
            print_table(summary)
            if not self.quiet:
                kept = run.folder.evaluation_path
                print(f"wrote {kept}, and the {len(score)} rows behind it to {kept.stem}.npz")
            if self.out:
                print(f"wrote {len(score)} rows to {self.out}")
        return 0


def print_table(summary: Mapping[str, Any]) -> None:
    """The numbers of one evaluation for a person."""
    from rich.console import Console
    from rich.table import Table

    def number(name: str) -> str:
        return "-" if summary[name] is None else f"{summary[name]:.3f}"

    title = f"{summary['data']}, {summary['split']} set, {summary['examples']} examples"
    table = Table("per example", "nats", title=title, caption=f"bits: {summary['binarisation']}")
    table.add_row("log-likelihood", number("mean"))
    for words, nats, bits in gains(summary["mean"], summary, summary.get("columns", 1)):
        table.add_row(f"log-likelihood of {words}", f"{summary['mean'] - nats:.3f}")
        table.add_row("  which this model betters by", f"{nats:.3f}")
        table.add_row("  in bits per column", f"{bits:.3f}")
    table.add_row("95% interval of its mean, ±", number("confidence"))
    table.add_row("  from the choice of examples, ±", number("test_set_error"))
    table.add_row("  from Monte-Carlo noise and bias, ±", number("monte_carlo_error"))
    table.add_row("estimated bias", number("bias"))
    table.add_row("variational bound", number("bound"))
    if "log_normaliser" in summary:
        log_z = summary["log_normaliser"]
        for side, name in (("below", "lower"), ("above", "upper")):
            error = "" if log_z["exact"] else f" ± {1.96 * log_z[f'{name}_error']:.3f}"
            table.add_row(f"log Z from {side}", f"{log_z[name]:.3f}{error}")
    table.add_section()
    table.add_row("samples per example", f"{summary['samples_per_example']:,.0f}")
    others = ""
    if summary["annealed_examples"]:
        table.add_row("examples by annealed runs", str(summary["annealed_examples"]))
        others = " of the others"
    table.add_row(f"median effective samples{others}", number("median_effective_samples"))
    table.add_row("examples with Pareto k > 0.7", str(summary["unreliable_examples"]))
    Console().print(table)
