"""Rows that are no bits: any tree of arrays, for models given as JAX functions."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.errors import DataError


class ArrayRows:
    """An immutable table whose rows are trees of arrays (dictionaries, lists, tuples).

    Attributes:
        tree: the arrays, all with the same first dimension N.

    >>> rows = ArrayRows({"x": np.zeros((5, 2)), "count": np.arange(5)})
    >>> len(rows), rows.take([1, 3]).tree["count"]
    (5, array([1, 3]))
    """

    def __init__(self, tree: Any):
        self.tree = _map(np.asarray, tree)
        counts = {leaf.shape[0] if leaf.ndim else None for leaf in _leaves(self.tree)}
        if len(counts) != 1 or None in counts:
            raise DataError(
                "rows must be one or more arrays whose first dimension counts the examples"
            )
        self._count = counts.pop()

    def __len__(self) -> int:
        return int(self._count or 0)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{leaf.dtype}{list(leaf.shape[1:])}" for leaf in _leaves(self.tree))
        return f"ArrayRows({len(self)} rows of {shapes})"

    def __getitem__(self, index: Any) -> Any:
        """The chosen rows as a tree of arrays."""
        return _map(lambda leaf: leaf[index], self.tree)

    def take(self, indices: npt.ArrayLike) -> "ArrayRows":
        """The rows at `indices`, in that order."""
        return ArrayRows(self[np.asarray(indices, np.intp)])

    def epoch_rows(self, indices: npt.NDArray[np.integer], seed: int, epoch: int) -> Any:
        """The rows at `indices`; they are the same in every epoch."""
        del seed, epoch
        return self[indices]

    @property
    def row_bytes(self) -> int:
        """Bytes of one stored row."""
        return sum(
            leaf.dtype.itemsize * int(np.prod(leaf.shape[1:])) for leaf in _leaves(self.tree)
        )

    def content(self) -> Iterator[bytes]:
        """All that the rows are, for a digest."""
        for leaf in _leaves(self.tree):
            yield f"{leaf.dtype.str}{leaf.shape}".encode()
            yield np.ascontiguousarray(leaf).tobytes()


def _map(function: Any, tree: Any) -> Any:
    """`jax.tree.map` for plain containers: this room knows no JAX."""
    if isinstance(tree, Mapping):
        return {name: _map(function, part) for name, part in sorted(tree.items())}
    if isinstance(tree, list | tuple):
        parts = [_map(function, part) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return function(tree)


def _leaves(tree: Any) -> list[npt.NDArray[Any]]:
    leaves: list[npt.NDArray[Any]] = []
    _map(leaves.append, tree)
    return leaves
