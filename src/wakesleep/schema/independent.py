"""The yardstick of every table: what a model of independent columns says of its rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.errors import DataError

Floats = npt.NDArray[np.float64]

PSEUDO_COUNT = 0.5
"""Added to each state's count: a state without training rows keeps a probability."""


@dataclass(frozen=True, eq=False)
class IndependentColumns:
    """Each column's states with their frequencies in the training rows, no column heeding another.

    Attributes:
        log_probabilities: of each group's states, an array per group.

    >>> columns = IndependentColumns.fit(np.array([[0], [0], [1]]), (2,))
    >>> np.exp(columns.log_prob(np.array([[0], [-1]]))).round(3).tolist()
    [0.625, 1.0]
    """

    log_probabilities: tuple[Floats, ...]

    @classmethod
    def fit(cls, codes: npt.NDArray[Any], states: tuple[int, ...]) -> "IndependentColumns":
        """Count the states `[N, G]` of the training rows; -1 is a missing cell."""
        tables = []
        for group, count in enumerate(states):
            seen = codes[codes[:, group] >= 0, group]
            smoothed = np.bincount(seen, minlength=count) + PSEUDO_COUNT
            tables.append(np.log(smoothed) - np.log(smoothed.sum()))
        return cls(tuple(tables))

    def log_prob(self, codes: npt.NDArray[Any]) -> Floats:
        """The log-probability of each row's observed states, `[N]`."""
        total = np.zeros(len(codes))
        for group, table in enumerate(self.log_probabilities):
            state = codes[:, group]
            total += np.where(state >= 0, table[np.maximum(state, 0)], 0.0)
        return total

    def to_lists(self) -> list[list[float]]:
        """Plain values."""
        return [table.tolist() for table in self.log_probabilities]

    @classmethod
    def from_lists(cls, values: Any, where: str) -> "IndependentColumns":
        """What `to_lists` gave."""
        try:
            return cls(tuple(np.asarray(table, np.float64) for table in values))
        except (TypeError, ValueError) as error:
            raise DataError(f"{where} has no frequencies of levels ({error})") from None
