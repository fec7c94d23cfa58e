"""Validation rows for those who gave none: a part of the training rows, always the same."""

import dataclasses

import numpy as np
import numpy.typing as npt

from wakesleep.data.checks import frozen_stream
from wakesleep.data.dataset import Dataset
from wakesleep.data.table_rows import TableRows
from wakesleep.errors import DataError

SHARE = 10
"""One row in so many is held out."""
LEAST, MOST = 50, 5000
"""But no fewer, unless that is more than a quarter of the rows, and no more."""


def held_out_count(rows: int) -> int:
    """How many of so many training rows are held out.

    >>> [held_out_count(rows) for rows in (2, 100, 500, 20_000, 1_000_000)]
    [1, 25, 50, 2000, 5000]
    """
    return max(1, min(rows // 4, MOST, max(LEAST, rows // SHARE)))


def hold_out(data: Dataset) -> Dataset:
    """The same data with validation rows taken from the training rows.

    Which rows these are depends on their number alone. The schema of a table stays that of all
    its training rows.
    """
    count = len(data.train)
    if count < 2:
        raise DataError(
            f"data set '{data.name}' has {count} training rows, of which none can be held out for "
            "validation: give more rows"
        )
    order = frozen_stream(0).permutation(count)
    valid, train = np.split(order, [held_out_count(count)])
    valid.sort()
    train.sort()
    return dataclasses.replace(
        data,
        train=data.train.take(train),
        valid=data.train.take(valid),
        table=None if data.table is None else _split(data.table, train, valid),
    )


def held_out_note(data: Dataset) -> str:
    """What `hold_out` did, in a sentence."""
    return f"no validation rows: {len(data.valid)} of the training rows are held out for the choice"


def _split(table: TableRows, train: npt.NDArray[np.intp], valid: npt.NDArray[np.intp]) -> TableRows:
    measure, numbers = table.log_measure["train"], table.numbers["train"]
    return dataclasses.replace(
        table,
        log_measure=table.log_measure | {"train": measure[train], "valid": measure[valid]},
        numbers=table.numbers | {"train": numbers[train], "valid": numbers[valid]},
        digests=table.digests | {"valid": table.digests["train"]},
        smoothing=None if table.smoothing is None else table.smoothing.take(train),
    )
