"""How a missing cell is written."""

import csv
import dataclasses
import io
import shlex
from collections.abc import Sequence

import numpy as np

from wakesleep.schema.frame import Cells, Mask
from wakesleep.schema.parsing import parse_numbers

MARKERS = (
    *("", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NaT"),
    *("null", "NULL", "None", "?"),
)
"""What counts as missing in a column of text unless told otherwise: what pandas takes for it."""

DOUBTFUL = "?"
"""A marker only where the column is otherwise clean: among other signs it is a sign."""


def missing_texts(values: Sequence[str], markers: frozenset[str]) -> Mask:
    """Which of a column's texts, blanks around them removed, are missing.

    >>> missing_texts(["1", "?", "", "3"], frozenset(MARKERS)).tolist()
    [False, True, True, False]
    >>> missing_texts(["!", "?", "."], frozenset(MARKERS)).tolist()
    [False, False, False]
    """
    absent = markers.intersection(values)
    if DOUBTFUL in absent and _has_signs(set(values) - markers):
        absent -= {DOUBTFUL}
    if not absent:
        return np.zeros(len(values), bool)
    return np.fromiter(map(absent.__contains__, values), bool, len(values))


def without_numbers(cells: Sequence[Cells], markers: frozenset[str]) -> tuple[Cells, ...]:
    """Columns of numbers in which those that are markers, such as -99, are missing."""
    numbers = parse_numbers(sorted(markers))[0]
    return tuple(
        dataclasses.replace(one, missing=one.missing | np.isin(one.values, numbers))
        if one.storage in ("whole", "real")
        else one
        for one in cells
    )


def further_markers(text: str) -> list[str]:
    """The usual spellings and those of a text, joined by commas.

    >>> further_markers("-99, unknown")[-2:]
    ['-99', 'unknown']
    """
    words = next(csv.reader([text], skipinitialspace=True), [])
    return [*MARKERS, *(word.strip() for word in words if word.strip() not in MARKERS)]


def markers_option(words: Sequence[str]) -> str:
    """What makes words missing cells, as it is typed in a shell.

    >>> markers_option(["not asked", "-99"])
    "'--missing-markers=not asked,-99'"
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(words)
    return shlex.quote(f"--missing-markers={text.getvalue()}")


def _has_signs(others: set[str]) -> bool:
    """Whether a value has no letter and no digit, or a question mark of its own."""
    return any(DOUBTFUL in one or not any(map(str.isalnum, one)) for one in others)
