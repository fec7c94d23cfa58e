"""Many rows, some at a time: blocks of one size, so that one shape is compiled.

A block's number and its rows follow from the number of rows and the block's size alone. Keys are
folded from the number, so the same rows in blocks of the same size get the same randomness,
whoever computes them and in whatever order.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

Progress = Callable[[int, int], None]
"""Called with the numbers of rows done and in all."""


@dataclass(frozen=True)
class Block:
    """Consecutive rows that are computed together.

    Attributes:
        number: its place among the blocks, to be folded into a key.
        start: its first row.
        stop: the row after its last.
        size: the rows a compiled call takes; the last block may have fewer of its own.
    """

    number: int
    start: int
    stop: int
    size: int

    def __len__(self) -> int:
        """The rows that are its own."""
        return self.stop - self.start

    @property
    def rows(self) -> npt.NDArray[np.intp]:
        """The numbers of its own rows."""
        return np.arange(self.start, self.stop)

    @property
    def filled(self) -> npt.NDArray[np.intp]:
        """The same, filled up to `size` with the last row over and over."""
        return np.minimum(np.arange(self.start, self.start + self.size), self.stop - 1)

    def trim(self, results: Any) -> Any:
        """A tree of results `[size, ...]` without those of the filling."""
        return jax.tree.map(lambda leaf: np.asarray(leaf)[: len(self)], results)


@dataclass(frozen=True)
class Blocks:
    """How some rows are cut into blocks.

    Attributes:
        total: the rows in all.
        size: the rows of a block; the last one may have fewer.

    >>> [(block.number, block.rows.tolist(), block.filled.tolist()) for block in Blocks(5, 3)]
    [(0, [0, 1, 2], [0, 1, 2]), (1, [3, 4], [3, 4, 4])]
    """

    total: int
    size: int

    def __len__(self) -> int:
        return -(-self.total // self.size)

    def __getitem__(self, number: int) -> Block:
        """The block of this number."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        start = number * self.size
        return Block(number, start, min(start + self.size, self.total), self.size)

    def __iter__(self) -> Iterator[Block]:
        return (self[number] for number in range(len(self)))

    def map(self, function: Callable[[Block], Any], progress: Progress | None = None) -> Any:
        """What the function makes of every block, trimmed and put together in the rows' order.

        Args:
            function: from a block to a tree of arrays, a line for each of its rows or, where it
                was given filled, for each of `size`.
            progress: told after every block.
        """
        parts = []
        for block in self:
            parts.append(block.trim(function(block)))
            if progress:
                progress(block.stop, self.total)
        return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
