"""What commands with a run folder have in common."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from wakesleep.errors import UsageError
from wakesleep.options import Count

if TYPE_CHECKING:
    from wakesleep.runs.loading import Run
    from wakesleep.runs.new_rows import NewRows

RunPath = Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN", help="A run folder.")]

NewFile = Annotated[
    tyro.conf.Positional[Path],
    tyro.conf.arg(
        metavar="FILE", help="Rows like the run's data; columns of a table are found by name."
    ),
]

DataFile = Annotated[
    str | None,
    tyro.conf.arg(
        metavar="FILE",
        help="Where the run's data are now, if not where they were; other data are refused.",
    ),
]

Overwrite = Annotated[bool, tyro.conf.arg(help="Replace files that are there already.")]

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""


def check_new(*paths: Path | None, overwrite: bool) -> None:
    """Refuse to replace files that are there, before any work is done."""
    for path in paths:
        if path is not None and path.exists() and not overwrite:
            raise UsageError(
                f"{path} is there already: give another --out, or --overwrite to replace it"
            )


@dataclass(frozen=True)
class NewRowsOptions:
    """Options of the commands that say something of each row of another file."""

    run_folder: RunPath
    file: NewFile
    samples: Count = 200
    """K, latents drawn from q per row."""
    unseen: Literal["error", "missing"] = "error"
    """Levels that training never saw, where there is none for others: refuse the file, or take
    the cells for missing."""
    encoding: str | None = None
    """Of the characters of a text file; that of the run's own unless given."""
    data: DataFile = None
    overwrite: Overwrite = False
    quiet: bool = False
    """Do not say what was written."""
    json: bool = False
    """Print a JSON object instead of sentences."""

    def open(self, out: Path) -> "tuple[Run, NewRows]":
        """The run and the file's rows, once nothing stands in the way of the output."""
        from wakesleep.runs.loading import load_run
        from wakesleep.runs.new_rows import read_new_rows

        check_new(out, overwrite=self.overwrite)
        run = load_run(self.run_folder, self.data)
        return run, read_new_rows(run, self.file, unseen=self.unseen, encoding=self.encoding)
