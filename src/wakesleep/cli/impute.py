"""`wakesleep impute`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from wakesleep.cli.run_options import DataFile, Overwrite, check_new
from wakesleep.errors import UsageError
from wakesleep.options import Count, Number, Seed, Whole

if TYPE_CHECKING:
    from wakesleep.data import Dataset
    from wakesleep.data.partial_files import PartialTable
    from wakesleep.inference.imputation import Imputation
    from wakesleep.runs.loading import Run

SUFFIXES = (".npz", ".npy", ".csv")


@dataclass
class Impute:
    """Fill in the missing cells of a table by a run's model.

    A table with names comes back with its cells imputed, all else as it was. Of a table of bits,
    draws of the missing ones and their probabilities are written; without FILE, half of each of
    some images of the run's test set is hidden.

    Example: wakesleep impute runs/survey gaps.csv --out imputed.csv
    """

    run_folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A run folder."""
    file: Annotated[tyro.conf.Positional[Path | None], tyro.conf.arg(metavar="FILE")] = None
    """A table with gaps, whose columns are found by name; for bits a .csv or .tsv with empty, ?
    or nan cells, or a .npy with nan."""
    out: Path | None = None
    """Where to write: for a table with names the imputed one; for bits .npz all of it, .npy the
    draws (rows x draws x columns), .csv the probabilities, with observed bits as they are."""
    how: Literal["probable", "draw"] = "probable"
    """For a table: probable is each cell's most probable level, or a number's median; draw is
    one draw of the row's missing cells together."""
    beside: bool = False
    """For a table: also write columns NAME.probability behind imputed levels, and NAME.low and
    NAME.high behind imputed numbers, between which nine of ten draws lie."""
    unseen: Literal["error", "missing"] = "error"
    """For a table: refuse levels that training never saw, or take such cells for missing."""
    encoding: str | None = None
    """Of the characters of a text file; that of the run's own unless given."""
    picture: Path | None = None
    """A .png of the rows as images: what was given, then its imputations."""
    hide: Literal["lower", "upper", "left", "right"] = "lower"
    """Which half is hidden where there is no FILE."""
    rows: Count = 10
    """The most rows in the picture, and the images taken where there is no FILE."""
    samples: Count = 500
    """The most imputations weighted for each row."""
    draws: Annotated[int | None, Whole(least=1)] = None
    """Imputations kept for each row: of bits 10 unless given. Of a table 1; with --how draw and
    more, all rows are written so many times, with a column `draw` in front."""
    moves: Annotated[int, Whole()] = 20
    """Sweeps of Metropolis moves for rows with few effective samples; 0 for none."""
    enough: Annotated[float, Number()] = 10
    """Effective samples that are enough: a row takes more samples, and then moves, while it has
    fewer."""
    seed: Seed = 4
    """Of the draws."""
    data: DataFile = None
    overwrite: Overwrite = False
    quiet: bool = False
    """No progress."""
    json: bool = False
    """Print a JSON object instead of sentences."""

    def run(self) -> int:
        """Impute, write and tell."""
        import jax

        from wakesleep.cli.progress_bars import EvaluationProgress
        from wakesleep.inference.imputation import impute
        from wakesleep.runs.loading import load_run

        check_new(self.out, self.picture, overwrite=self.overwrite)
        run = load_run(self.run_folder, self.data)
        if run.schema is not None:
            return self._impute_table(run)
        self._check()
        data = run.data if self.file is None else None
        table = self._table(data)
        if self.picture and data is None:
            data = run.about_data.without_rows()
        with EvaluationProgress("imputing", quiet=self.quiet or self.json) as progress:
            imputed = impute(
                run.machine,
                *table,
                self.samples,
                key=jax.random.key(self.seed),
                draws=10 if self.draws is None else self.draws,
                moves=self.moves,
                enough=self.enough,
                progress=progress,
            )
        if self.picture and data:
            self._draw_picture(self.picture, data, table, imputed)
        if self.out:
            write_imputation(self.out, table, imputed)
        self._tell(table, imputed)
        return 0

    def _impute_table(self, run: "Run") -> int:
        from wakesleep.cli.impute_table import ImputeTable
        from wakesleep.runs.table_imputation import TableImputation

        if self.picture:
            raise UsageError("--picture is for bits that are images: give --out for a table")
        words = (self.how, self.samples, self.moves, self.enough, self.seed, self.beside)
        how = TableImputation(*words, draws=1 if self.draws is None else self.draws)
        reading = (self.unseen, self.encoding)
        table = ImputeTable(self.file, self.out, *reading, self.quiet, self.json)
        return table.run(run, how)

    def _table(self, data: "Dataset | None") -> "PartialTable":
        from wakesleep.data.hidden_halves import hidden_half
        from wakesleep.data.partial_files import read_partial

        if self.file:
            return read_partial(self.file)
        assert data is not None
        return hidden_half(data, self.rows, self.hide)

    def _check(self) -> None:
        if not (self.out or self.picture):
            raise UsageError("nothing to write: give --out, --picture or both")
        if self.out and self.out.suffix not in SUFFIXES:
            raise UsageError(f"--out must end in .npz, .npy or .csv, not '{self.out.name}'")
        if self.picture and self.picture.suffix != ".png":
            raise UsageError(f"--picture must end in .png, not '{self.picture.name}'")
        if self.rows < 1:
            raise UsageError(f"--rows must be 1 or more, not {self.rows}")

    def _draw_picture(
        self, path: Path, data: "Dataset", table: "PartialTable", imputed: "Imputation"
    ) -> None:
        from wakesleep.atomic import write_atomically
        from wakesleep.report.imputations import imputations_png

        shown = slice(0, self.rows)
        arrays = table.bits[shown], table.missing[shown], imputed.draws[shown]
        pictures = (data.images(array) for array in arrays)
        write_atomically(path, imputations_png(*pictures, inverted=data.inverted))

    def _tell(self, table: "PartialTable", imputed: "Imputation") -> None:
        summary = summarise(table, imputed)
        written = [str(path) for path in (self.out, self.picture) if path]
        if self.json:
            print(json.dumps({**summary, "samples": self.samples, "written": written}))
            return
        print(
            f"imputed {summary['missing_bits']} missing bits in {summary['rows']} rows; "
            f"wrote {' and '.join(written)}"
        )
        if summary["moved_rows"]:
            print(f"{summary['moved_rows']} rows had few effective samples and were moved")
        if summary["unreliable_rows"]:
            print(
                f"{summary['unreliable_rows']} rows should not be believed: few effective "
                "samples, and moves that were hardly accepted"
            )


def write_imputation(path: Path, table: "PartialTable", imputed: "Imputation") -> None:
    """The whole result, the draws, or the probabilities, by the file's suffix."""
    import io

    import numpy as np

    from wakesleep.atomic import write_atomically

    buffer = io.BytesIO()
    if path.suffix == ".npy":
        np.save(buffer, imputed.draws, allow_pickle=False)
    elif path.suffix == ".csv":
        np.savetxt(buffer, imputed.probabilities, fmt="%.6g", delimiter=",")
    else:
        np.savez_compressed(buffer, allow_pickle=False, missing=table.missing, **vars(imputed))
    write_atomically(path, buffer.getvalue())


def summarise(table: "PartialTable", imputed: "Imputation") -> dict[str, Any]:
    """The numbers of an imputation for JSON; None where no row had missing bits."""
    import numpy as np

    partial = table.missing.any(axis=1)
    likelihood, effective = imputed.log_likelihood[partial], imputed.effective_samples[partial]
    effective = effective[np.isfinite(effective)]
    accepted = imputed.accepted[imputed.moved]
    return {
        "rows": len(table.bits),
        "missing_bits": int(table.missing.sum()),
        "draws": imputed.draws.shape[1],
        "mean_log_likelihood_of_observed": float(likelihood.mean()) if len(likelihood) else None,
        "median_effective_samples": float(np.median(effective)) if len(effective) else None,
        "moved_rows": len(accepted),
        "mean_accepted": float(accepted.mean()) if len(accepted) else None,
        "unreliable_rows": int(imputed.unreliable.sum()),
    }
