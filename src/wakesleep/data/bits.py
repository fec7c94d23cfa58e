"""Tables of bits, eight to a byte: binarized MNIST takes 7 MB."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.data.mapping import assemble, gather, read
from wakesleep.errors import DataError

Bits = npt.NDArray[np.uint8]

BLOCK_CELLS = 1 << 22
"""Cells unpacked at a time where a whole table is walked: 4 MB as uint8."""


@dataclass(frozen=True, eq=False)
class PackedBits:
    """An immutable table `[N, D]` of bits.

    Attributes:
        rows: `np.packbits(bits, axis=1)`, uint8 `[N, ceil(D / 8)]`; may be a memory map, of
            which only what is asked for is read.
        features: D.

    >>> bits = PackedBits.pack(np.eye(3))
    >>> bits[1]
    array([0, 1, 0], dtype=uint8)
    """

    rows: Bits
    features: int

    def __post_init__(self) -> None:
        width = -(-self.features // 8)
        if self.rows.dtype != np.uint8 or self.rows.shape[1:] != (width,):
            raise DataError(
                f"{self.features} packed columns need uint8 rows of {width} bytes, "
                f"not {self.rows.dtype} of shape {self.rows.shape}"
            )
        rows = self.rows.view()
        rows.flags.writeable = False
        object.__setattr__(self, "rows", rows)

    @classmethod
    def pack(cls, bits: npt.NDArray[Any]) -> "PackedBits":
        """Pack an array `[N, D]` known to hold only 0 and 1, of any numeric type."""
        return cls.from_blocks(bits[part] for part in row_blocks(*bits.shape))

    @classmethod
    def from_blocks(cls, blocks: Iterable[npt.NDArray[Any]]) -> "PackedBits":
        """Pack consecutive rows given block by block, at least one, each `[n, D]`."""
        coming = iter(blocks)
        first = next(coming)
        packed = (np.packbits(block != 0, axis=1) for block in chain([first], coming))
        return cls(assemble(packed), first.shape[1])

    def __repr__(self) -> str:
        return f"PackedBits({len(self)} rows of {self.features} bits)"

    def __len__(self) -> int:
        return self.rows.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        """(N, D)."""
        return len(self), self.features

    def __getitem__(self, index: Any) -> Bits:
        """Unpacked rows: `[D]` for a number, `[..., D]` for a slice or an array of indices."""
        if isinstance(index, tuple):
            raise TypeError("PackedBits are indexed by rows alone: write bits[rows][:, columns]")
        return np.unpackbits(read(self.rows, index), axis=-1, count=self.features)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("packed bits cannot become an array without a copy")
        return self[:] if dtype is None else self[:].astype(dtype, copy=False)

    def take(self, indices: npt.ArrayLike) -> "PackedBits":
        """The rows at `indices`, in that order, still packed."""
        chosen = np.asarray(indices, dtype=np.intp)
        blocks = row_blocks(len(chosen), self.features)
        rows = assemble(gather(self.rows, chosen[part]) for part in blocks)
        return PackedBits(rows, self.features)

    def epoch_rows(self, indices: npt.NDArray[np.integer], seed: int, epoch: int) -> Bits:
        """The packed rows at `indices`, the same in every epoch; `GreyRows` draws them anew."""
        return gather(self.rows, indices)

    @property
    def row_bytes(self) -> int:
        """Bytes of one stored row."""
        return self.rows.shape[1]

    def content(self) -> Iterator[bytes]:
        """All that the rows are, for a digest."""
        yield f"bits {self.shape}".encode()
        for part in row_blocks(*self.shape):
            yield read(self.rows, part).tobytes()

    def mean(self) -> npt.NDArray[np.float64]:
        """The fraction of ones in each column, `[D]`."""
        if not len(self):
            raise DataError("a table without rows has no mean")
        return self._ones() / len(self)

    def smoothed_mean(self) -> npt.NDArray[np.float64]:
        """(ones + 1) / (N + 2) in each column, `[D]`: strictly between 0 and 1."""
        return (self._ones() + 1) / (len(self) + 2)

    def _ones(self) -> npt.NDArray[np.int64]:
        counts = np.zeros(self.features, dtype=np.int64)
        for part in row_blocks(*self.shape):
            block = self[part]
            # Sums that fit into a byte are several times faster than those that need widening.
            for start in range(0, len(block), 255):
                counts += block[start : start + 255].sum(axis=0, dtype=np.uint8)
        return counts


def row_blocks(rows: int, features: int) -> Iterator[slice]:
    """Slices that cover the rows, each of about `BLOCK_CELLS` cells; at least one slice."""
    step = max(1, BLOCK_CELLS // max(1, features))
    for start in range(0, max(1, rows), step):
        yield slice(start, start + step)
