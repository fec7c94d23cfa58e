"""What commands on people's own rows say and write."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wakesleep.schema import Frame


def write_result(result: "Frame", path: Path) -> None:
    """Write a table to a file whose kind its name tells, in a folder that may be new."""
    from wakesleep.schema import write_frame

    path.parent.mkdir(parents=True, exist_ok=True)
    write_frame(result, path)


def say_notes(notes: Iterable[str]) -> None:
    """What a person should know of the rows, once each."""
    for note in dict.fromkeys(notes):
        print(note, file=sys.stderr)
