"""Grey values: tables of probabilities whose bits are drawn anew in every epoch."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.data.bits import Bits, PackedBits, row_blocks
from wakesleep.data.mapping import assemble, gather, read
from wakesleep.data.row_draws import RowDraws
from wakesleep.errors import DataError

CELLS_AT_ONCE = 1 << 16
"""Cells drawn at a time, so that their random numbers stay in a core's own cache."""

_ONE = 1 << 31
"""Probability 1 among the whole numbers that draws are compared with."""

_BYTE_LIMITS = np.rint(np.arange(256) / 255 * _ONE).astype(np.uint32)

_ONCE, _IN_EPOCH = 0, 1
"""Kinds of draws, which share no randomness."""


@dataclass(frozen=True, eq=False)
class GreyRows:
    """An immutable table `[N, D]` of the probabilities of ones.

    A bit depends on its row, its column, the seed and the epoch alone, not on the order in which
    rows are asked for. Indexing gives bits drawn once and for all, for whoever wants to look.

    Attributes:
        grey: uint8, where 255 is probability 1, or float32 from 0 to 1; may be a memory map.

    >>> rows = GreyRows(np.array([[0, 255, 128]], np.uint8))
    >>> rows[0][:2]
    array([0, 1], dtype=uint8)
    """

    grey: npt.NDArray[Any]

    def __post_init__(self) -> None:
        if self.grey.ndim != 2 or self.grey.dtype not in (np.uint8, np.float32):
            raise DataError(
                "grey rows must be a table of uint8 or float32, "
                f"not {self.grey.dtype} of shape {self.grey.shape}"
            )
        grey = self.grey.view()
        grey.flags.writeable = False
        object.__setattr__(self, "grey", grey)

    def __len__(self) -> int:
        return self.grey.shape[0]

    @property
    def features(self) -> int:
        """The number of columns, D."""
        return self.grey.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """(N, D)."""
        return len(self), self.features

    def epoch_rows(self, indices: npt.NDArray[np.integer], seed: int, epoch: int) -> Bits:
        """The packed bits that the rows at `indices` have in an epoch."""
        return self._draw(indices, (_IN_EPOCH, seed, epoch))

    def once(self, stream: int = 0) -> PackedBits:
        """Every row's bits drawn once and for all; another stream gives others."""
        blocks = (
            self._draw(np.arange(part.start, min(part.stop, len(self))), (_ONCE, stream))
            for part in row_blocks(*self.shape)
        )
        return PackedBits(assemble(blocks), self.features)

    def threshold(self, level: float) -> PackedBits:
        """1 where the probability is `level` or more."""
        return PackedBits.from_blocks(
            self._probabilities(part) >= level for part in row_blocks(*self.shape)
        )

    def __getitem__(self, index: Any) -> Bits:
        """Rows of `once()`, unpacked: `[D]` for a number, `[..., D]` for a slice or indices."""
        if isinstance(index, tuple):
            raise TypeError("GreyRows are indexed by rows alone: write rows[indices][:, columns]")
        chosen = np.arange(len(self))[index]
        packed = self._draw(chosen.reshape(-1), (_ONCE, 0))
        bits = np.unpackbits(packed, axis=-1, count=self.features)
        return bits.reshape(*chosen.shape, self.features)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("grey rows cannot become an array of bits without a copy")
        return self[:] if dtype is None else self[:].astype(dtype, copy=False)

    def take(self, indices: npt.ArrayLike) -> "GreyRows":
        """The rows at `indices`, in that order, still grey."""
        chosen = np.asarray(indices, dtype=np.intp)
        blocks = row_blocks(len(chosen), self.features)
        return GreyRows(assemble(gather(self.grey, chosen[part]) for part in blocks))

    @property
    def row_bytes(self) -> int:
        """Bytes of one row of drawn bits."""
        return -(-self.features // 8)

    def content(self) -> Iterator[bytes]:
        """All that the rows are, for a digest."""
        yield f"grey {self.grey.dtype} {self.shape}".encode()
        for part in row_blocks(*self.shape):
            yield read(self.grey, part).tobytes()

    def mean(self) -> npt.NDArray[np.float64]:
        """The mean probability in each column, `[D]`."""
        if not len(self):
            raise DataError("a table without rows has no mean")
        return self._expected_ones() / len(self)

    def smoothed_mean(self) -> npt.NDArray[np.float64]:
        """(expected ones + 1) / (N + 2) in each column, `[D]`: strictly between 0 and 1."""
        return (self._expected_ones() + 1) / (len(self) + 2)

    def _expected_ones(self) -> npt.NDArray[np.float64]:
        ones = np.zeros(self.features)
        for part in row_blocks(*self.shape):
            ones += self._probabilities(part).sum(axis=0, dtype=np.float64)
        return ones

    def _probabilities(self, part: slice) -> npt.NDArray[np.floating]:
        values = read(self.grey, part)
        return values / 255 if values.dtype == np.uint8 else values

    def _draw(self, indices: npt.NDArray[np.integer], stream: tuple[int, ...]) -> Bits:
        draws = RowDraws(stream)
        packed = np.empty((len(indices), -(-self.features // 8)), np.uint8)
        step = max(1, CELLS_AT_ONCE // self.features)
        for start in range(0, len(indices), step):
            rows = indices[start : start + step]
            limits = _limits(gather(self.grey, rows))
            ones = draws(rows, self.features) < limits
            packed[start : start + step] = np.packbits(ones, axis=1)
        return packed


def _limits(grey: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """The probabilities in units of 2^-31, with 0 and 1 exact."""
    if grey.dtype == np.uint8:
        return _BYTE_LIMITS[grey]
    return np.rint(grey.astype(np.float64) * _ONE).astype(np.uint32)
