"""`wakesleep report`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass
class Report:
    """Write RUN/report.html: learning curves, likelihood, samples, in one file without network."""

    run_folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A run folder."""

    def run(self) -> int:
        """Write the page."""
        from wakesleep.report import write_report

        print(f"wrote {write_report(self.run_folder)}")
        return 0
