"""Training pictures that every pass moves by other distances."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wakesleep.data.bits import Bits, PackedBits, row_blocks
from wakesleep.data.dataset import Dataset
from wakesleep.data.grey import GreyRows
from wakesleep.data.row_draws import RowDraws
from wakesleep.errors import UsageError

_SHIFTED = 22
"""Keeps this randomness apart from other draws by the same seed."""


@dataclass(frozen=True, eq=False)
class ShiftedRows:
    """Rows as batches take them.

    A picture's shift depends on its row, the seed and the pass alone, and any of the
    (2 `most` + 1)^2 shifts is as likely as another. What moves in from outside is background.

    Attributes:
        rows: the pictures, one a row.
        shape: (lines, pixels of a line), as a row has them one after the other.
        most: pixels by which a picture moves at most, in both directions.
        background: the bit of an empty pixel.
    """

    rows: PackedBits | GreyRows
    shape: tuple[int, int]
    most: int
    background: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def epoch_rows(self, indices: npt.NDArray[np.integer], seed: int, epoch: int) -> Bits:
        """The packed rows at `indices`, moved by the shifts of this pass."""
        packed = self.rows.epoch_rows(indices, seed, epoch)
        draws = RowDraws((_SHIFTED, seed, epoch))(indices, 2)
        shifts = (draws % (2 * self.most + 1)).astype(np.int64) - self.most
        blocks = row_blocks(len(packed), self.rows.features)
        moved = [self._moved(packed[part], shifts[part]) for part in blocks]
        return np.concatenate(moved)

    def _moved(self, packed: Bits, shifts: npt.NDArray[np.int64]) -> Bits:
        bits = np.unpackbits(packed, axis=1, count=self.rows.features)
        margin = ((0, 0), (self.most, self.most), (self.most, self.most))
        wide = np.pad(bits.reshape(-1, *self.shape), margin, constant_values=self.background)
        windows = np.lib.stride_tricks.sliding_window_view(wide, self.shape, axis=(1, 2))
        places = self.most - shifts
        moved = windows[np.arange(len(bits)), places[:, 0], places[:, 1]]
        return np.packbits(moved.reshape(bits.shape), axis=1)


def shifted_rows(data: Dataset, most: int) -> ShiftedRows:
    """The training rows of a data set of pictures, moved by up to `most` pixels."""
    if data.image_shape is None or not isinstance(data.train, PackedBits | GreyRows):
        raise UsageError(
            f"shifts is for images, which the rows of '{data.name}' are not: leave it out of the "
            "recipe"
        )
    height, width = data.image_shape
    if most >= min(height, width):
        raise UsageError(
            f"shifts of {most} pixels would move pictures of {height} x {width} out of sight: "
            f"give less than {min(height, width)}"
        )
    shape = (width, height) if data.column_major else (height, width)
    return ShiftedRows(data.train, shape, most, data.inverted)
