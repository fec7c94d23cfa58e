"""What commands with a run folder have in common."""

from pathlib import Path
from typing import Annotated

import tyro

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

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""
