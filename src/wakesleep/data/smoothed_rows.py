"""Training rows of a table whose numbers every pass moves by other noise."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wakesleep.data.bits import PackedBits
from wakesleep.data.dataset import Dataset, Table
from wakesleep.data.masked_bits import MaskedBits
from wakesleep.errors import UsageError

if TYPE_CHECKING:
    from wakesleep.schema.smoothing import Smoothing

_MOVED = 21
"""Keeps this randomness apart from other draws by the same seed."""


@dataclass(frozen=True, eq=False)
class SmoothedRows:
    """Rows as batches take them.

    Attributes:
        smoothing: the rows with their numbers.
        times: the width of the noise, in widths that are usual for so many rows.
        masked: whether the data have missing cells.
    """

    smoothing: "Smoothing"
    times: float
    masked: bool

    def __len__(self) -> int:
        return len(self.smoothing)

    def epoch_rows(self, indices: npt.NDArray[np.integer], seed: int, epoch: int) -> Any:
        """The packed rows at `indices`, moved by the noise of this pass."""
        from wakesleep.schema import bits_of

        drawn = np.random.default_rng((_MOVED, seed, epoch))
        codes = self.smoothing.moved(indices, self.times, drawn)
        bits = PackedBits.pack(bits_of(codes, self.smoothing.rows.states))
        everything = np.arange(len(indices))
        if not self.masked:
            return bits.epoch_rows(everything, seed, epoch)
        groups = self.smoothing.schema.groups
        rows = MaskedBits(bits, PackedBits.pack((codes >= 0).astype(np.uint8)), groups)
        return rows.epoch_rows(everything, seed, epoch)


def smoothed_rows(data: Dataset, times: float) -> Table | SmoothedRows:
    """The training rows, with their numbers moved where `times` is not 0."""
    if not times:
        return data.train
    if data.table is None or data.table.smoothing is None:
        raise UsageError(
            f"smoothing is for tables with at least two columns of numbers, which '{data.name}' "
            "has not: leave it out of the recipe"
        )
    return SmoothedRows(data.table.smoothing, times, data.masked)
