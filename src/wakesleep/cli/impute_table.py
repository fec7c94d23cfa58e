"""`wakesleep impute` where the run's data are a table with a schema."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakesleep.cli.new_rows_output import say_notes, write_result
from wakesleep.errors import UsageError

if TYPE_CHECKING:
    from wakesleep.runs.loading import Run
    from wakesleep.runs.new_rows import NewRows
    from wakesleep.runs.table_imputation import TableImputation


@dataclass
class ImputeTable:
    """The part of the command that knows of columns.

    Attributes:
        file: the table.
        out: where to write it.
        unseen: what unknown levels are.
        encoding: of the file's characters; None for that of the run's own.
        quiet: no progress.
        as_json: whether to print an object in place of sentences.
    """

    file: Path | None
    out: Path | None
    unseen: str
    encoding: str | None
    quiet: bool
    as_json: bool

    def run(self, run: "Run", imputation: "TableImputation") -> int:
        """Read, impute, write and tell."""
        from wakesleep.cli.progress_bars import EvaluationProgress
        from wakesleep.runs.new_rows import read_new_rows
        from wakesleep.schema import is_table_file, typed
        from wakesleep.schema.columnar_files import EXTENSIONS as COLUMNAR

        if self.file is None or self.out is None:
            raise UsageError("a table needs the FILE with its gaps, and --out for the imputed one")
        if not is_table_file(self.out):
            raise UsageError(f"--out must be a table such as imputed.csv, not '{self.out.name}'")
        new = read_new_rows(run, self.file, unseen=self.unseen, encoding=self.encoding)
        with EvaluationProgress("imputing", quiet=self.quiet or self.as_json) as progress:
            table, imputed = imputation.of(run.machine, new, progress)
        columnar = self.out.suffix.lower() in COLUMNAR
        # Cells of a text file keep their spelling; where columns have types, numbers are numbers.
        write_result(typed(table, new.schema) if columnar and new.schema else table, self.out)
        self._tell(new, len(table), int(imputed.unreliable.sum()))
        return 0

    def _tell(self, new: "NewRows", written: int, unreliable: int) -> None:
        assert new.encoded is not None
        gaps = ~new.encoded.observed
        summary: dict[str, Any] = {
            "rows": len(new),
            "missing_cells": int(gaps.sum()),
            "imputed_rows": int(gaps.any(axis=1).sum()),
            "unreliable_rows": unreliable,
            "written": str(self.out),
            "notes": list(new.notes),
        }
        if self.as_json:
            print(json.dumps(summary))
            return
        say_notes(new.notes)
        print(
            f"imputed {summary['missing_cells']} missing cells in {summary['imputed_rows']} of "
            f"{summary['rows']} rows; wrote {written} rows to {self.out}"
        )
        if unreliable:
            print(f"{unreliable} rows should not be believed: few effective samples")
