"""Levels that training never saw: where they are, and rows without them."""

import dataclasses

import numpy as np

from wakesleep.schema.frame import Frame, quoted
from wakesleep.schema.levels import LevelColumn
from wakesleep.schema.schema import Schema


def without_unseen(schema: Schema, frame: Frame) -> tuple[Frame, tuple[str, ...]]:
    """The table with cells of unknown levels missing, and a note per column that had any.

    For rows that were held out of a table: a level that only they have must not stop a training.
    Columns with a level for others keep their cells.
    """
    notes = []
    cells = []
    for one in frame.cells:
        column = next((each for each in schema.modelled if each.name == one.name), None)
        unseen = np.zeros(len(frame), bool)
        if isinstance(column, LevelColumn) and column.other is None and len(frame):
            unseen = column.unseen(frame)
        if unseen.any():
            notes.append(
                f"column {quoted(one.name)}: {unseen.sum()} of {len(frame)} cells have levels "
                "unseen in training and count as missing"
            )
        cells.append(dataclasses.replace(one, missing=one.missing | unseen))
    return dataclasses.replace(frame, cells=tuple(cells)), tuple(notes)
