"""What is expected of each column as numbers that a classifier takes. No JAX here."""

from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.schema.bins import Bins
from wakesleep.schema.columns import Column
from wakesleep.schema.numbers import NumberColumn
from wakesleep.schema.point_estimates import state_probabilities
from wakesleep.schema.schema import Schema

Floats = npt.NDArray[np.float64]

BITS = ("0", "1")


def expected_columns(
    schema: Schema, probabilities: npt.NDArray[Any], within: npt.NDArray[Any]
) -> Floats:
    """What is expected of each column, `[N, F]`, by its units' probabilities to be 1, `[N, D]`.

    A number column is one feature, about 0 and about 1 wide: its value where `within` (`[N, G]`)
    has it, elsewhere the mean over its bins. The units of other columns are features as they are.
    Where being missing is a level, it is a feature of its own, and the number then is 0.
    """
    parts, ends = [], np.cumsum(schema.groups)
    for group, (column, size, end) in enumerate(
        zip(schema.modelled, schema.groups, ends, strict=True)
    ):
        units = np.asarray(probabilities[:, end - size : end], np.float64)
        if isinstance(column, NumberColumn):
            states = state_probabilities(units)
            parts.append(_standardised(column.bins, states, within[:, group])[:, None])
            units = states[:, column.states :]
        parts.append(units)
    return np.concatenate([np.zeros((len(probabilities), 0)), *parts], axis=1)


def _standardised(bins: Bins, states: Floats, known: Floats) -> Floats:
    """Numbers less their mean, over their deviation, `[N]`: those of bins that are equally full."""
    middles = bins.at(np.arange(bins.states), np.full(bins.states, 0.5))
    centre, widths = middles.mean(), np.append(bins.upper - bins.lower, np.zeros(len(bins.atoms)))
    variance = np.mean((middles - centre) ** 2 + widths**2 / 12)
    expected = states[:, : bins.states] @ (middles - centre)
    return np.where(np.isnan(known), expected, known - centre) / (np.sqrt(variance) or 1.0)


def expected_names(schema: Schema) -> list[str]:
    """What the features are called: `age`, `region=north`; a column of 0 and 1 by its own name."""
    return [name for column in schema.modelled for name in _names(column)]


def _names(column: Column) -> list[str]:
    missing = [f"{column.name}=missing"] * column.missing_level
    if isinstance(column, NumberColumn):
        return [column.name, *missing]
    levels = column.labels()
    names = [*(f"{column.name}={level}" for level in levels), *missing]
    if len(names) > 2:
        return names
    return [column.name] if levels == BITS else names[1:]
