"""Tables of bits with missing cells: the bits, and which groups of them were observed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.data.bits import Bits, PackedBits, row_blocks
from wakesleep.errors import DataError


@dataclass(frozen=True, eq=False)
class MaskedBits:
    """An immutable table `[N, D]` of bits whose columns come in G groups, some not observed.

    Attributes:
        bits: `[N, D]`; 0 in every unit of a group that was not observed.
        observed: `[N, G]`, 1 where a group was observed.
        groups: the units of each group, which sum to D.

    >>> table = MaskedBits(PackedBits.pack(np.eye(3)), PackedBits.pack(np.ones((3, 2))), (1, 2))
    >>> table.take([1]).epoch_rows(np.array([0]), 0, 0)["bits"]
    array([[64]], dtype=uint8)
    """

    bits: PackedBits
    observed: PackedBits
    groups: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.bits) != len(self.observed):
            raise DataError(
                f"{len(self.bits)} rows of bits need as many rows of what was observed, "
                f"not {len(self.observed)}"
            )
        if (sum(self.groups), len(self.groups)) != (self.features, self.groups_count):
            raise DataError(
                f"groups of {sum(self.groups)} units in all do not fit a table of {self.features} "
                f"bits in {self.groups_count} groups"
            )

    @classmethod
    def pack(
        cls, bits: npt.NDArray[Any], observed: npt.NDArray[Any], groups: tuple[int, ...]
    ) -> "MaskedBits":
        """Pack arrays `[N, D]` and `[N, G]` of 0 and 1."""
        return cls(PackedBits.pack(bits), PackedBits.pack(observed), groups)

    def __len__(self) -> int:
        return len(self.bits)

    def __repr__(self) -> str:
        missing = int((1 - self.observed[:].astype(int)).sum())
        return (
            f"MaskedBits({len(self)} rows of {self.features} bits in {self.groups_count} groups, "
            f"{missing} of them missing)"
        )

    @property
    def features(self) -> int:
        """The number of bits, D."""
        return self.bits.features

    @property
    def groups_count(self) -> int:
        """The number of groups, G."""
        return self.observed.features

    @property
    def shape(self) -> tuple[int, int]:
        """(N, D)."""
        return self.bits.shape

    def __getitem__(self, index: Any) -> Bits:
        """Unpacked bits, 0 where they are missing; `observed[index]` says where that is."""
        return self.bits[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self.bits.__array__(dtype, copy)

    def take(self, indices: npt.ArrayLike) -> "MaskedBits":
        """The rows at `indices`, in that order, still packed."""
        return MaskedBits(self.bits.take(indices), self.observed.take(indices), self.groups)

    def epoch_rows(
        self, indices: npt.NDArray[np.integer], seed: int, epoch: int
    ) -> dict[str, Bits]:
        """The packed rows at `indices`, the same in every epoch."""
        return {
            "bits": self.bits.epoch_rows(indices, seed, epoch),
            "observed": self.observed.epoch_rows(indices, seed, epoch),
        }

    @property
    def row_bytes(self) -> int:
        """Bytes of one stored row."""
        return self.bits.row_bytes + self.observed.row_bytes

    def content(self) -> Iterator[bytes]:
        """All that the rows are, for a digest."""
        yield f"masked {self.groups}".encode()
        yield from self.bits.content()
        yield from self.observed.content()

    def mean(self) -> npt.NDArray[np.float64]:
        """The fraction of ones in each column among the rows where it was observed, `[D]`.

        0 for a column that was never observed.
        """
        ones, counts = self._counts()
        return ones / np.maximum(counts, 1)

    def smoothed_mean(self) -> npt.NDArray[np.float64]:
        """(ones + 1) / (observed + 2) in each column, `[D]`: strictly between 0 and 1."""
        ones, counts = self._counts()
        return (ones + 1) / (counts + 2)

    def _counts(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Ones, and rows where they were observed, of each column."""
        ones, rows = np.zeros(self.features), np.zeros(self.groups_count)
        for part in row_blocks(*self.shape):
            ones += self.bits[part].sum(axis=0, dtype=np.float64)
            rows += self.observed[part].sum(axis=0, dtype=np.float64)
        return ones, np.repeat(rows, self.groups)
