"""The oddest rows of a table with the cells that make them odd, as a person can look them up."""

from typing import Any

import numpy as np

from wakesleep.data import Dataset
from wakesleep.models import BitModel
from wakesleep.runs.new_rows import NewRows
from wakesleep.runs.odd_cells import odd_cells
from wakesleep.runs.yardstick import Yardstick, fixed_rows, score_rows, spaced
from wakesleep.schema import cell_texts, without_unseen

SHOWN = 20
CELLS = 3
LOOKED_AT = (200, 5000)
"""The fewest and the most rows of a split that are scored, evenly spaced."""
BITS = 2_000_000
"""Of the rows of a split that are scored: some seconds of work."""


def odd_rows(model: BitModel, data: Dataset, yardstick: Yardstick) -> dict[str, Any]:
    """The rows with the lowest log-likelihoods of all splits, in plain values.

    A row has its number in the file, from 1, its identifiers, and its oddest cells as
    `(column, value, nats)`.
    """
    assert data.table is not None
    places: list[tuple[float, str, int]] = []
    looked_at = 0
    for split, table in data.splits.items():
        if not len(table):
            continue
        most = int(np.clip(BITS // model.features, *LOOKED_AT))
        chosen = spaced(len(table), most)
        rows = fixed_rows(table).take(chosen)
        scores = score_rows(model, rows, data.table.log_measure[split][chosen])
        places += [
            (float(score), split, int(row)) for score, row in zip(scores, chosen, strict=True)
        ]
        looked_at += len(chosen)
    oddest = sorted(places)[:SHOWN]
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for split in {split for _, split, _ in oddest}:
        found |= _described(model, data, yardstick, [one for one in oddest if one[1] == split])
    return {"looked_at": looked_at, "rows": [found[split, row] for _, split, row in oddest]}


def _described(
    model: BitModel, data: Dataset, yardstick: Yardstick, places: list[tuple[float, str, int]]
) -> dict[tuple[str, int], dict[str, Any]]:
    """Some rows of one split."""
    assert data.table is not None
    assert data.schema is not None
    split = places[0][1]
    scores, rows = np.array([one[0] for one in places]), np.array([one[2] for one in places])
    numbers = data.table.numbers[split][rows]
    new = _as_read(data, split, rows)
    odd = odd_cells(model, new, yardstick, CELLS)
    texts = {name: cell_texts(cells) for name, cells in odd.items() if not name.endswith("_nats")}
    identifiers = {cells.name: cell_texts(cells) for cells in new.identifiers()}
    described = {}
    for at, (row, percentile) in enumerate(zip(rows, yardstick.percentiles(scores), strict=True)):
        cells = []
        for place in range(1, CELLS + 1):
            name = f"odd_{place}"
            if name in odd and not odd[name].missing[at]:
                nats = float(odd[f"{name}_nats"].values[at])
                cells.append([texts[name][at], texts[f"{name}_value"][at], nats])
        described[split, int(row)] = {
            "row": int(numbers[at]),
            "split": split,
            "identifiers": {name: each[at] for name, each in identifiers.items()},
            "log_likelihood": float(scores[at]),
            "percentile": float(percentile),
            "cells": cells,
        }
    return described


def _as_read(data: Dataset, split: str, rows: Any) -> NewRows:
    """Rows with their cells as the file has them."""
    assert data.table is not None
    assert data.schema is not None
    bits = fixed_rows(data.splits[split]).take(rows)
    measure = data.table.log_measure[split][rows]
    if data.table.read_again is None:
        # A table of 0 and 1: its bits tell its cells.
        frame = data.schema.decode(bits[:], None)
    else:
        frame = data.table.read_again(split).take(data.table.numbers[split][rows] - 1)
    known, _ = without_unseen(data.schema, frame)
    return NewRows(bits, measure, frame, data.schema.encode(known), (), data.schema)
