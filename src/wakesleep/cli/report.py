"""`wakesleep report`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from wakesleep.cli.run_options import DataFile, Overwrite, check_new
from wakesleep.errors import UsageError


@dataclass
class Report:
    """Write a page about a run, or one that compares several: one HTML file without network.

    Example: wakesleep report runs/survey
    """

    run_folders: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN")]
    """One or more run folders."""
    out: Path | None = None
    """The file; RUN/report.html for one run, ./report.html for several, unless given."""
    data: DataFile = None
    overwrite: Overwrite = False
    quiet: bool = False
    """No progress."""

    def run(self) -> int:
        """Write the page."""
        from wakesleep.cli.progress_bars import EvaluationProgress
        from wakesleep.report import write_comparison, write_report

        if not self.run_folders:
            raise UsageError("give the folders of one or more runs: wakesleep report RUN...")
        # A run's own page is made anew; any other file may be somebody's.
        check_new(self.out, overwrite=self.overwrite)
        with EvaluationProgress("reporting", quiet=self.quiet) as progress:
            if len(self.run_folders) == 1:
                path = write_report(
                    self.run_folders[0], self.out, data=self.data, progress=progress
                )
            else:
                out = self.out or Path("report.html")
                path = write_comparison(self.run_folders, out, data=self.data, progress=progress)
        print(f"wrote {path}")
        return 0
