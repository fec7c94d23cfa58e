"""How a missing cell is written."""

from collections.abc import Sequence

import numpy as np

from wakesleep.schema.frame import Mask

MARKERS = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "None", "?")
"""What counts as missing in a column of text unless told otherwise."""

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


def _has_signs(others: set[str]) -> bool:
    """Whether a value has no letter and no digit, or a question mark of its own."""
    return any(DOUBTFUL in one or not any(map(str.isalnum, one)) for one in others)
