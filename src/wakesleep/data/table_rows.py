"""What is known of a table's rows beside their bits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    # Loaded by those who have tables: `--help` does not wait for it.
    from wakesleep.schema import Frame, Schema
    from wakesleep.schema.smoothing import Smoothing


@dataclass(frozen=True, eq=False)
class TableRows:
    """What the bits of a table do not say.

    Attributes:
        schema: what the columns are.
        log_measure: of each split's rows, `[N]`: what is added to the log-probability of a row's
            bits to give its log-likelihood in the table's own units.
        numbers: of each split's rows, from 1, in the file or frame that they came from.
        digests: of each split's values, which bits tell up to bins alone.
        cell_measure: of each column, what is added on average to the log-probability of a training
            row's cell, `[G]`.
        raw_digests: of each split's rows as they were read, whatever the schema makes of them.
        notes: what a person should know of the rows that were held out.
        read_again: gives the whole table that a split's rows came from, as it was read; None
            where the bits say all there is.
        smoothing: moves the training rows' numbers a little; None where there are none to move.
    """

    schema: "Schema"
    log_measure: dict[str, npt.NDArray[np.float64]]
    numbers: dict[str, npt.NDArray[np.int64]]
    digests: dict[str, str]
    cell_measure: npt.NDArray[np.float64]
    raw_digests: dict[str, str]
    notes: tuple[str, ...] = ()
    read_again: "Callable[[str], Frame] | None" = None
    smoothing: "Smoothing | None" = None

    def __repr__(self) -> str:
        return f"TableRows({self.schema!r})"
