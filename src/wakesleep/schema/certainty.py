"""How certain imputed cells are: a level's probability, the interval of a number."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.errors import UsageError
from wakesleep.schema.frame import Cells, Frame, Mask, quoted
from wakesleep.schema.numbers import NumberColumn
from wakesleep.schema.point_estimates import quantile_places, state_probabilities
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
        part = state_probabilities(probabilities[:, end - size : end])
        if isinstance(column, NumberColumn) and not column.missing_level:
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
    return column.bins.at(*quantile_places(column.bins, probabilities, share))


def _of_states(probabilities: Floats, codes: npt.NDArray[Any]) -> Floats:
    """The probability of each row's state."""
    return probabilities[np.arange(len(codes)), np.maximum(codes, 0)]
