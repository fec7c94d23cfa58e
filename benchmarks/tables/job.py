"""What a part of the benchmark measures at once."""

from dataclasses import dataclass, replace

import pandas as pd

from benchmarks.tables.splits import Split, split_rows


class NotApplicableError(Exception):
    """Why a method is not asked on a table."""


@dataclass(frozen=True)
class Job:
    """What a part measures at once.

    Attributes:
        table: its name.
        frame: its rows.
        target: the column that classifiers predict.
        number: of the split, which is also the seed.
        method: ours or a peer.
        minutes: for one training of ours.
    """

    table: str
    frame: pd.DataFrame
    target: str
    number: int
    method: str
    minutes: float

    def split(self) -> Split:
        return split_rows(self.frame, self.number)

    def labelled(self) -> "Job":
        """Without the rows that have no target."""
        return replace(self, frame=self.frame.dropna(subset=[self.target]))
