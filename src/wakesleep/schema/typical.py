"""How odd a row's cells are by themselves, even if odd rows were among those of training.

A model that is good at likelihood learns the odd rows of its training too, and finds others like
them quite normal. Independent columns hardly do: a few odd rows are a small share of each column.
Made of the rows alone that independent columns find least odd, they do not at all.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.schema.binning import Grid, make_bins
from wakesleep.schema.bins import Bins
from wakesleep.schema.columns import Column
from wakesleep.schema.encoded import Encoded
from wakesleep.schema.independent import IndependentColumns
from wakesleep.schema.numbers import NumberColumn

Floats = npt.NDArray[np.float64]

TYPICAL = 0.8
"""The share of the training rows that it is made of."""


@dataclass(frozen=True, eq=False)
class TypicalColumns:
    """Independent columns of the training rows that are least odd.

    Attributes:
        bins: of each modelled column's numbers, which need not be as wide as the model's; None
            for levels.
        columns: the frequencies of states.
    """

    bins: tuple[Bins | None, ...]
    columns: IndependentColumns

    @classmethod
    def fit(cls, modelled: tuple[Column, ...], rows: Encoded) -> "TypicalColumns":
        """Of the columns that are modelled and the training rows."""
        scores = cls._of(modelled, rows).log_prob(rows)
        return cls._of(modelled, rows.take(scores >= np.quantile(scores, 1 - TYPICAL)))

    @classmethod
    def _of(cls, modelled: tuple[Column, ...], rows: Encoded) -> "TypicalColumns":
        bins = tuple(
            _bins(column, rows.within[:, group]) if isinstance(column, NumberColumn) else None
            for group, column in enumerate(modelled)
        )
        states = tuple(
            column.missing_level + (column.states if own is None else own.states)
            for column, own in zip(modelled, bins, strict=True)
        )
        return cls(bins, IndependentColumns.fit(_codes(bins, rows), states))

    def log_prob(self, rows: Encoded) -> Floats:
        """Each row's log-likelihood in the table's units, `[N]`; missing cells add nothing."""
        codes = _codes(self.bins, rows)
        total = self.columns.log_prob(codes)
        for group, bins in enumerate(self.bins):
            if bins is not None:
                there = np.flatnonzero(~np.isnan(rows.within[:, group]))
                values = rows.within[there, group]
                total[there] += bins.log_measure(values, codes[there, group].astype(np.int64))
        return total

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        bins = [None if own is None else own.to_dict() for own in self.bins]
        return {"bins": bins, "columns": self.columns.to_lists()}


def _bins(column: NumberColumn, values: Floats) -> Bins:
    """As many as so many numbers should have; atoms are the column's own.

    So probabilities stay probabilities and densities densities, as in the column's own bins.
    """
    own = column.bins
    numbers = values[~np.isnan(values) & ~np.isin(values, own.atoms)]
    if not len(numbers) or (own.upper == own.lower).any():
        return own
    made = make_bins(numbers, Grid(own.decimals, own.whole), atoms=False)
    made = replace(made, atoms=own.atoms)
    return made if made.states > 1 else own


def _codes(bins: tuple[Bins | None, ...], rows: Encoded) -> npt.NDArray[np.int32]:
    """The states `[N, G]`; a level for missing cells comes last."""
    codes = rows.codes.copy()
    for group, own in enumerate(bins):
        if own is not None:
            values = rows.within[:, group]
            there = ~np.isnan(values)
            codes[there, group] = own.codes(values[there])
            codes[~there & (codes[:, group] >= 0), group] = own.states
    return codes
