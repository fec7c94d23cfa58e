"""How certain imputed cells are: a level's probability, the interval of a number."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.errors import UsageError
from wakesleep.schema.frame import Cells, Frame, Mask, quoted
from wakesleep.schema.numbers import NumberColumn
from wakesleep.schema.schema import Schema

Floats = npt.NDArray[np.float64]

INTERVAL = (0.05, 0.95)
"""The quantiles between which nine of ten draws of a number lie."""


def with_certainty(
    frame: Frame, schema: Schema, gaps: Mask, imputed: tuple[npt.NDArray[Any], npt.NDArray[Any]]
) -> Frame:
    """The table with columns behind those that had gaps; they are empty where there was none.

    Args:
        frame: the imputed table.
        schema: what its columns are.
        gaps: `[N, G]`, true where a cell was missing.
        imputed: the bits that the cells were made of and the probabilities of all units, `[N, D]`.
    """
    bits, probabilities = imputed
    codes = schema.codes(bits)
    ends = np.cumsum(schema.groups)
    made: dict[str, list[Cells]] = {}
    for group, column in enumerate(schema.modelled):
        missing = gaps[:, group]
        if not missing.any():
            continue
        end, size = int(ends[group]), schema.groups[group]
        part = np.asarray(probabilities[:, end - size : end], np.float64)
        if isinstance(column, NumberColumn) and not column.missing_level and size > 1:
            cells = [column.cells_of(quantile(column, part, share), ~missing) for share in INTERVAL]
            suffixes: tuple[str, ...] = ("low", "high")
        else:
            cells = [Cells("", "real", _of_states(part, codes[:, group]), ~missing, decimals=4)]
            suffixes = ("probability",)
        made[column.name] = [
            dataclasses.replace(one, name=f"{column.name}.{suffix}")
            for one, suffix in zip(cells, suffixes, strict=True)
        ]
    taken = {one.name for added in made.values() for one in added} & set(frame.names)
    if taken:
        raise UsageError(
            f"the table has a column {quoted(min(taken))} already: rename it, or do without "
            "--beside"
        )
    together = [each for one in frame.cells for each in (one, *made.get(one.name, ()))]
    return dataclasses.replace(frame, cells=tuple(together))


def quantile(column: NumberColumn, probabilities: Floats, share: float) -> Floats:
    """The number below which a share of the probability lies, `[N]`; bins are even within."""
    bins, order = column.bins, column.bins.order()
    part = probabilities[:, order]
    total = part.cumsum(axis=1)
    goal = share * total[:, -1]
    place = np.minimum((total < goal[:, None]).sum(axis=1), part.shape[1] - 1)
    rows = np.arange(len(part))
    state, own = order[place], part[rows, place]
    inside = (goal - (total[rows, place] - own)) / np.where(own > 0, own, 1.0)
    values = np.empty(len(part))
    atoms = state >= len(bins.lower)
    values[atoms] = bins.atoms[state[atoms] - len(bins.lower)] if atoms.any() else 0.0
    k = state[~atoms]
    between = bins.lower[k] + np.clip(inside[~atoms], 0, 1) * (bins.upper[k] - bins.lower[k])
    values[~atoms] = bins.rounded(between, k)
    return values


def _of_states(probabilities: Floats, codes: npt.NDArray[Any]) -> Floats:
    """The probability of each row's state."""
    if probabilities.shape[1] == 1:
        one = probabilities[:, 0]
        return np.where(codes == 1, one, 1 - one)
    return probabilities[np.arange(len(codes)), np.maximum(codes, 0)]
