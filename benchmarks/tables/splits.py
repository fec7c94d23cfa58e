"""The rows that every method gets: the same ones, drawn by the number of the split."""

from typing import NamedTuple

import numpy as np
import pandas as pd

TRAIN, VALID = 0.7, 0.1


class Split(NamedTuple):
    """Three parts of a table. Who chooses something chooses it on `valid`."""

    train: pd.DataFrame
    valid: pd.DataFrame
    test: pd.DataFrame

    @property
    def known(self) -> pd.DataFrame:
        """For those who choose nothing: all rows but the test's."""
        return pd.concat([self.train, self.valid], ignore_index=True)

    def without(self, *columns: str) -> "Split":
        return Split(*(part.drop(columns=list(columns)) for part in self))


def split_rows(frame: pd.DataFrame, number: int) -> Split:
    """70% for training, 10% for choices, 20% for the test, shuffled by the split's number."""
    order = np.random.default_rng([17, number]).permutation(len(frame))
    first, second = int(TRAIN * len(frame)), int((TRAIN + VALID) * len(frame))
    parts = np.split(order, [first, second])
    return Split(*(frame.iloc[rows].reset_index(drop=True) for rows in parts))
