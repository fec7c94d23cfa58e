"""One value for a cell of which probabilities are known: the best level, the median number."""

from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.schema.bins import Bins
from wakesleep.schema.encoded import Bits, bits_of
from wakesleep.schema.numbers import NumberColumn
from wakesleep.schema.schema import Schema

Floats = npt.NDArray[np.float64]


def most_probable(schema: Schema, probabilities: npt.NDArray[Any]) -> Bits:
    """Bits `[N, D]` of rows whose units are 1 with these probabilities, `[N, D]`.

    A column of levels gets its most probable one, a column of numbers the bin of their median: the
    most probable bin would be one of many that are nearly as good.
    """
    codes = np.empty((len(probabilities), len(schema.groups)), np.int32)
    ends = np.cumsum(schema.groups)
    for group, (column, size, end) in enumerate(
        zip(schema.modelled, schema.groups, ends, strict=True)
    ):
        part = state_probabilities(probabilities[:, end - size : end])
        if isinstance(column, NumberColumn) and not column.missing_level:
            codes[:, group] = quantile_places(column.bins, part, 0.5)[0]
        else:
            codes[:, group] = part.argmax(axis=1)
    return bits_of(codes, schema.states)


def median_shares(schema: Schema, probabilities: npt.NDArray[Any]) -> Floats:
    """The share of its bin's probability that is below each number's median, `[N, G]`.

    A half for all else.
    """
    shares = np.full((len(probabilities), len(schema.groups)), 0.5)
    ends = np.cumsum(schema.groups)
    for group, (column, size, end) in enumerate(
        zip(schema.modelled, schema.groups, ends, strict=True)
    ):
        if isinstance(column, NumberColumn) and not column.missing_level:
            part = state_probabilities(probabilities[:, end - size : end])
            shares[:, group] = quantile_places(column.bins, part, 0.5)[1]
    return shares


def state_probabilities(units: npt.NDArray[Any]) -> Floats:
    """Those of a group's states, `[N, S]`, by its units' to be 1; a single unit has two states."""
    part = np.asarray(units, np.float64)
    return np.concatenate([1 - part, part], axis=1) if part.shape[1] == 1 else part


def quantile_places(
    bins: Bins, probabilities: Floats, share: float
) -> tuple[npt.NDArray[np.int64], Floats]:
    """The state in which a share of the probability is reached, and how far into it, `[N]` each."""
    order = bins.order()
    part = probabilities[:, order]
    total = part.cumsum(axis=1)
    goal = share * total[:, -1]
    place = np.minimum((total < goal[:, None]).sum(axis=1), part.shape[1] - 1)
    rows = np.arange(len(part))
    own = part[rows, place]
    inside = (goal - (total[rows, place] - own)) / np.where(own > 0, own, 1.0)
    return order[place].astype(np.int64), np.clip(inside, 0.0, 1.0)
