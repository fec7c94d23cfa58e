"""Training rows whose numbers are moved a little: what few rows say of their neighbourhood.

A model of bins does not know that neighbouring bins are near. Rows whose numbers were moved by
noise, as a kernel density estimate moves them, teach it that. The noise is as wide as the Gaussians
are that place numbers in their bins, times what is usual for as many rows and columns (Silverman's
rule); levels, atoms and missing cells stay.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.schema.bins import Bins
from wakesleep.schema.encoded import Codes, Encoded
from wakesleep.schema.schema import Schema
from wakesleep.schema.within import Within


@dataclass(frozen=True, eq=False)
class Smoothing:
    """Rows to be moved, by the schema that was made of them.

    Attributes:
        schema: one that places numbers in their bins.
        rows: the training rows.
    """

    schema: Schema
    rows: Encoded

    @classmethod
    def of(cls, schema: Schema, rows: Encoded) -> "Smoothing | None":
        """None where the schema places no numbers."""
        return None if schema.within is None else cls(schema, rows)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, numbers: npt.NDArray[Any]) -> "Smoothing":
        """Some of the rows."""
        return Smoothing(self.schema, self.rows.take(numbers))

    @property
    def width(self) -> float:
        """Silverman's for as many rows and columns, in standard deviations.

        (4 / ((J + 2) N))^(1 / (J + 4))
        """
        columns = len(self._within.groups)
        return float((4 / ((columns + 2) * len(self))) ** (1 / (columns + 4)))

    def moved(self, numbers: npt.NDArray[Any], times: float, rng: np.random.Generator) -> Codes:
        """The states of the rows with these numbers, moved by `times` the usual width, `[n, G]`.

        A generator in the same state moves a row by the same noise, whatever rows are with it.
        """
        within, codes = self._within, self.rows.codes[numbers].copy()
        values = self.rows.within[numbers][:, within.groups]
        noise = rng.normal(size=(len(self), len(within.groups)))[numbers]
        values = within.smoothed(values, self._components[numbers], times * self.width, noise)
        for group, bins, own in zip(within.groups, self._bins, values.T, strict=True):
            # What is missing or an atom stays.
            there = (codes[:, group] >= 0) & (codes[:, group] < len(bins.lower))
            codes[there, group] = bins.codes(np.rint(own[there]) if bins.whole else own[there])
        return codes

    @property
    def _within(self) -> Within:
        assert self.schema.within is not None
        return self.schema.within

    @property
    def _bins(self) -> list[Bins]:
        return self.schema.bins_within()

    @cached_property
    def _components(self) -> npt.NDArray[np.int64]:
        return self._within.nearest(self.rows.within[:, self._within.groups], self._bins)
