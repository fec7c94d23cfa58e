"""`wakesleep score`."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from wakesleep.cli.cluster_options import ClusterOptions
from wakesleep.cli.new_rows_output import say_notes, write_result
from wakesleep.cli.run_options import NewRowsOptions
from wakesleep.errors import UsageError
from wakesleep.options import Whole
from wakesleep.runs.yardstick_words import gain_sentences


@dataclass
class Score:
    """Score the rows of another file: log-likelihoods, where they stand, and their oddest cells.

    A row's numbers depend on that row alone. Low percentiles are odd rows. Where odd rows may have
    been among those of training, go by the oddity: it is high for rows like them too. An odd cell's
    nats say how much less likely it is, given the rest of its row, than cells of its column are in
    training rows on average.

    Example: wakesleep score runs/survey new.csv --out scores.csv
    """

    options: NewRowsOptions
    out: Path = Path("scores.csv")
    """A table: .csv, .tsv, .csv.gz, .parquet or .feather."""
    odd_cells: Annotated[int, Whole()] = 3
    """How many odd cells to name for each row; 0 is faster."""
    cluster: ClusterOptions = field(default_factory=ClusterOptions)

    def run(self) -> int:
        """Score and write."""
        from wakesleep.cli.progress_bars import working
        from wakesleep.runs.odd_cells import odd_cells
        from wakesleep.runs.yardstick import row_codes, score_rows, yardstick_of

        options = self.options
        if self.odd_cells < 0:
            raise UsageError(f"--odd-cells must be 0 or more, not {self.odd_cells}")
        run, new = options.open(self.out)
        odd: dict[str, Any] = {}
        with self.cluster.used():
            with working("scoring"):
                yardstick = yardstick_of(run, options.samples)
                scores = score_rows(run.machine, new.rows, new.log_measure, options.samples)
            if self.odd_cells:
                with working("looking at cells"):
                    odd = odd_cells(run.machine, new, yardstick, self.odd_cells)
        others = yardstick.others(row_codes(new.rows, new.schema), new.log_measure)
        percentiles = yardstick.percentiles(scores)
        columns = {
            "log_likelihood": scores,
            "percentile": percentiles,
            "oddity": new.oddity(scores),
            **others,
            **odd,
        }
        write_result(new.named(columns), self.out)
        summary: dict[str, Any] = {
            "rows": len(new),
            "columns": run.machine.groups_count,
            "mean_log_likelihood": float(scores.mean()),
            **{f"mean_{name}": float(values.mean()) for name, values in others.items()},
            "below_first_percentile": int((percentiles <= 1).sum()),
            "written": str(self.out),
            "notes": list(new.notes),
        }
        if options.json:
            print(json.dumps(summary))
        elif not options.quiet:
            say_notes(new.notes)
            self._tell(summary)
        return 0

    def _tell(self, summary: dict[str, Any]) -> None:
        ours = summary["mean_log_likelihood"]
        print(f"wrote the scores of {summary['rows']} rows to {self.out}")
        print(f"mean log-likelihood {ours:.3f} nats")
        means = {
            name.removeprefix("mean_"): value
            for name, value in summary.items()
            if name.startswith("mean_")
        }
        for sentence in gain_sentences(ours, means, summary["columns"]):
            print(sentence)
        odd = summary["below_first_percentile"]
        print(f"{odd} rows are as odd as the oddest hundredth of the training rows")
