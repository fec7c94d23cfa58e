"""Which rows of a table go to training, validation and test."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wakesleep.data.checks import frozen_stream
from wakesleep.data.dataset import SPLITS
from wakesleep.errors import DataError, UsageError

Fractions = Sequence[float | int]
DEFAULT_SPLIT = (0.8, 0.1, 0.1)


def split_numbers(
    count: int, split: Fractions | None, seed: int, what: str
) -> dict[str, npt.NDArray[np.intp]]:
    """Row numbers from 0 by fractions of train, valid and test, each split's in order.

    A fraction of 0 gives no rows; None puts all of them in train.
    """
    fractions = (1.0, 0.0, 0.0) if split is None else tuple(map(float, split))
    _check_fractions(fractions)
    ends = [round(count * sum(fractions[: i + 1])) for i in range(3)]
    order = frozen_stream(seed).permutation(count)
    parts = dict(zip(SPLITS, np.split(order, ends[:2]), strict=True))
    for (name, rows), fraction in zip(parts.items(), fractions, strict=True):
        if fraction > 0 and not len(rows):
            rows_there = "1 row" if count == 1 else f"{count} rows"
            raise DataError(
                f"{what} has {rows_there}, of which a fraction of {fraction:g} leaves none for "
                f"{name}: give more rows, a larger fraction, or 0"
            )
    return {name: np.sort(rows) for name, rows in parts.items()}


def check_own_splits(what: str, split: Fractions | None) -> None:
    """Raise a `UsageError` if fractions were asked for where the splits are given."""
    if split is not None and tuple(split) != DEFAULT_SPLIT:
        raise UsageError(f"{what} comes with its own splits: leave the split fractions out")


def _check_fractions(fractions: tuple[float, ...]) -> None:
    proper = len(fractions) == 3 and all(0 <= fraction <= 1 for fraction in fractions)
    if not proper or not math.isclose(sum(fractions), 1.0, abs_tol=1e-9):
        given = ", ".join(f"{fraction:g}" for fraction in fractions)
        raise UsageError(
            f"split ({given}) must be three fractions for train, valid and test that sum to 1"
        )
