"""`wakesleep compare`."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from wakesleep.cli.run_options import DataFile, Overwrite, check_new

if TYPE_CHECKING:
    from wakesleep.report.comparison import Difference


@dataclass
class Compare:
    """Compare runs: their likelihoods, the differences on the same examples, their curves.

    Example: wakesleep compare runs/survey runs/other
    """

    run_folders: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN")]
    """Two or more run folders."""
    out: Path | None = None
    """Also draw the validation curves to this .png or .svg file."""
    data: DataFile = None
    overwrite: Overwrite = False
    json: bool = False
    """Print a JSON object instead of a table."""

    def run(self) -> int:
        """Print, and draw if asked."""
        from wakesleep.cli.progress_bars import working
        from wakesleep.pictures import check_format
        from wakesleep.report.comparison import (
            caution,
            comparison_rows,
            differences,
            view_runs,
            yardsticks,
        )
        from wakesleep.report.curves import save_curves

        if self.out:
            check_format(self.out)
            check_new(self.out, overwrite=self.overwrite)
        with working("reading"):
            runs = view_runs(self.run_folders, self.data)
            if self.out:
                save_curves(self.out, runs)
        rows, gains, warning = comparison_rows(runs), differences(runs), caution(runs)
        beside = yardsticks(runs)
        if self.json:
            pairs = [asdict(gain) for gain in gains]
            found = {"runs": rows, "differences": pairs, "caution": warning, "beside": beside}
            print(json.dumps(found))
            return 0
        print_comparison(rows, gains)
        for sentence in (*beside, *([warning] if warning else [])):
            print(sentence)
        if self.out:
            print(f"wrote the curves of {len(rows)} runs to {self.out}")
        return 0


def print_comparison(rows: Sequence[dict[str, Any]], gains: Sequence["Difference"]) -> None:
    """The numbers for a person."""
    from rich.console import Console
    from rich.table import Table

    from wakesleep.report.rendering import number

    table = Table("run", "NLL, nats", "K", "valid LL", "epochs", "seconds", "model")
    for row in rows:
        nll = f"{number(row['nll'])} ± {number(row['confidence'])}" if row["nll"] else "–"
        table.add_row(
            *(row["run"], nll, number(row["samples"], 0), number(row["valid_ll"])),
            *(str(row["epochs"]), number(row["seconds"], 0), row["model"]),
        )
    Console().print(table)
    for gain in gains:
        doubt = "" if gain.certain else ": no difference can be told"
        amount = f"{gain.gain:.2f} ± {gain.confidence:.2f} nats"
        print(f"{gain.better} is {amount} better than {gain.worse}{doubt}")
