"""Are samples copies of training rows? Distances to the nearest one. No JAX here."""

import numpy as np
import numpy.typing as npt

from wakesleep.schema import NumberColumn, Schema

Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

MOST_WORK = 1_000_000_000
"""Cells that are compared; where there are more, fewer training rows are looked at."""
BLOCK = 128


def nearest_distances(schema: Schema, rows: Codes, training: Codes) -> Floats:
    """The distance of each row's states `[N, G]` to the nearest training row, from 0 to 1.

    It is the mean over columns of what differs (Gower's distance): 0 or 1 for levels and for a
    cell of which one side is missing, and for numbers how many bins apart they are, as a share of
    all bins. 0 is the same level or bin in every column.
    """
    places, more = _places(schema, rows), _places(schema, training)
    result = np.empty(len(rows))
    for start in range(0, len(rows), BLOCK):
        block = places[start : start + BLOCK]
        total = np.zeros((len(block), len(training)), np.float32)
        for group, column in enumerate(schema.modelled):
            a, b = block[:, group, None], more[None, :, group]
            if isinstance(column, NumberColumn):
                total += np.minimum(np.abs(a - b), 1)
            else:
                total += a != b
        result[start : start + BLOCK] = total.min(1, initial=np.inf) / len(schema.modelled)
    return result


def comparable_rows(rows: int, columns: int) -> int:
    """How many training rows so many rows can be compared with."""
    return max(1, MOST_WORK // max(1, rows * columns))


def closer_share(samples: Floats, held_out: Floats) -> float:
    """How often a sample is nearer to training than a held-out row is; ties count half.

    >>> closer_share(np.array([0.1, 0.3]), np.array([0.2, 0.3]))
    0.625
    """
    less = np.searchsorted(np.sort(samples), held_out, side="left")
    most = np.searchsorted(np.sort(samples), held_out, side="right")
    return float((less + most).mean() / (2 * len(samples)))


def _places(schema: Schema, codes: Codes) -> npt.NDArray[np.float32]:
    """States as numbers to compare: bins in their order from 0 to 1, missing far from all."""
    places = codes.astype(np.float32)
    for group, column in enumerate(schema.modelled):
        if isinstance(column, NumberColumn):
            rank = np.argsort(column.bins.order()) / max(1, column.states - 1)
            known = np.append(rank, 3.0) if column.missing_level else rank
            state = codes[:, group]
            places[:, group] = np.where(state < 0, 3.0, known[np.maximum(state, 0)])
    return places
