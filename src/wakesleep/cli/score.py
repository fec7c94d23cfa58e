"""`wakesleep score`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from wakesleep.cli.new_rows_output import say_notes, write_result
from wakesleep.cli.run_options import DataFile, NewFile, RunPath
from wakesleep.errors import UsageError


@dataclass
class Score:
    """Score the rows of another file: log-likelihoods, and where they stand among training rows.

    A row's score depends on that row alone. Low percentiles are odd rows.
    """

    run_folder: RunPath
    file: NewFile
    out: Path = Path("scores.csv")
    """A table: .csv, .tsv, .csv.gz, .parquet or .feather."""
    samples: int = 200
    """K, latents drawn from q per row."""
    unseen: Literal["error", "missing"] = "error"
    """Levels that training never saw, where there is none for others: refuse the file, or take
    the cells for missing."""
    data: DataFile = None
    quiet: bool = False
    """Do not say what was written."""
    json: bool = False
    """Print a JSON object instead of sentences."""

    def run(self) -> int:
        """Score and write."""
        from wakesleep.cli.progress_bars import working
        from wakesleep.runs.loading import load_run
        from wakesleep.runs.new_rows import read_new_rows
        from wakesleep.runs.yardstick import row_codes, score_rows, yardstick_of

        if self.samples < 1:
            raise UsageError(f"--samples must be 1 or more, not {self.samples}")
        run = load_run(self.run_folder, self.data)
        new = read_new_rows(run, self.file, unseen=self.unseen)
        with working("scoring"):
            yardstick = yardstick_of(run, self.samples)
            scores = score_rows(run.machine, new.rows, new.log_measure, self.samples)
        codes = row_codes(new.rows, new.schema)
        independent = yardstick.columns.log_prob(codes) + new.log_measure
        percentiles = yardstick.percentiles(scores)
        result = new.named(
            {
                "log_likelihood": scores,
                "percentile": percentiles,
                "independent_columns": independent,
            }
        )
        write_result(result, self.out)
        summary: dict[str, Any] = {
            "rows": len(new),
            "mean_log_likelihood": float(scores.mean()),
            "mean_independent_columns": float(independent.mean()),
            "below_first_percentile": int((percentiles <= 1).sum()),
            "written": str(self.out),
            "notes": list(new.notes),
        }
        if self.json:
            print(json.dumps(summary))
        elif not self.quiet:
            say_notes(new.notes)
            self._tell(summary)
        return 0

    def _tell(self, summary: dict[str, Any]) -> None:
        ours, others = summary["mean_log_likelihood"], summary["mean_independent_columns"]
        print(f"wrote the scores of {summary['rows']} rows to {self.out}")
        print(f"mean log-likelihood {ours:.3f} nats; independent columns give {others:.3f}")
        odd = summary["below_first_percentile"]
        print(f"{odd} rows are as odd as the oddest hundredth of the training rows")
