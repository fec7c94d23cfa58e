"""A data set: three tables of bits and what a person needs to know to judge results on them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wakesleep.data.arrays import ArrayRows
from wakesleep.data.bits import PackedBits
from wakesleep.data.checks import check_same_width
from wakesleep.data.grey import GreyRows
from wakesleep.data.masked_bits import MaskedBits
from wakesleep.data.table_rows import TableRows
from wakesleep.errors import DataError, UsageError

if TYPE_CHECKING:
    # Loaded by those who have tables: `--help` does not wait for it.
    from wakesleep.schema import Schema

SPLITS = ("train", "valid", "test")

Table = PackedBits | MaskedBits | GreyRows | ArrayRows
"""A split's rows: bits, bits with missing groups, grey values of which each epoch of training draws
its bits, or arrays."""

SHOWN_COLUMNS = 8


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Bits in the splits train, valid and test; a split may have no rows.

    Attributes:
        name: the registered name, or the file's.
        binarisation: how the values became bits; likelihoods compare only under the same one.
        image_shape: (rows, columns) of the picture a row is, if it is one.
        column_major: the picture's pixels run down its columns.
        inverted: the background is 1.
        entropy: of the distribution the rows were drawn from, in nats, where it is known.
        table: where the bits are those of a table with a schema: that, and what bits do not say.
    """

    name: str
    train: Table
    valid: Table
    test: Table
    binarisation: str
    image_shape: tuple[int, int] | None = None
    column_major: bool = False
    inverted: bool = False
    entropy: float | None = None
    table: TableRows | None = None

    def __post_init__(self) -> None:
        if isinstance(self.train, ArrayRows):
            return
        check_same_width(self.splits)
        if self.image_shape and np.prod(self.image_shape) != self.features:
            rows, columns = self.image_shape
            raise DataError(
                f"data set '{self.name}' has {self.features} columns, which are no images "
                f"of {rows} x {columns} pixels"
            )

    def __repr__(self) -> str:
        rows = " / ".join(str(len(table)) for table in self.splits.values())
        if isinstance(self.train, ArrayRows):
            return f"Dataset({self.name!r}: {rows} rows (train / valid / test) of arrays)"
        shape = f"{rows} rows (train / valid / test) of {self.features} bits"
        if self.schema is None:
            return f"Dataset({self.name!r}: {shape})"
        shown = [f"{one.name} ({one.kind})" for one in self.schema.columns]
        more = [f"{len(shown) - SHOWN_COLUMNS} more"] if len(shown) > SHOWN_COLUMNS else []
        columns = ", ".join(shown[:SHOWN_COLUMNS] + more)
        return f"Dataset({self.name!r}: {shape}; columns {columns})"

    @property
    def schema(self) -> "Schema | None":
        """What the columns of the table are that the bits were made of, if they were."""
        return None if self.table is None else self.table.schema

    @property
    def groups(self) -> tuple[int, ...] | None:
        """How many units each column of a table has; None where all of them are bits."""
        sizes: tuple[int, ...] = () if self.schema is None else self.schema.groups
        if isinstance(self.train, MaskedBits):
            sizes = self.train.groups
        return sizes if set(sizes) - {1} else None

    @property
    def masked(self) -> bool:
        """Whether there are missing cells."""
        return isinstance(self.train, MaskedBits)

    @property
    def features(self) -> int:
        """The number of columns, D."""
        if isinstance(self.train, ArrayRows):
            raise DataError(f"data set '{self.name}' holds arrays, not a table of bits")
        return self.train.features

    @property
    def splits(self) -> dict[str, Table]:
        """The three tables by name."""
        return {"train": self.train, "valid": self.valid, "test": self.test}

    def images(self, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Rows `[..., D]` as pictures `[..., rows, columns]`, the right way up."""
        if self.image_shape is None:
            raise UsageError(f"the rows of data set '{self.name}' are not images")
        if x.shape[-1] != self.features:
            raise UsageError(
                f"images of data set '{self.name}' have {self.features} pixels, not {x.shape[-1]}"
            )
        if not self.column_major:
            return x.reshape(*x.shape[:-1], *self.image_shape)
        return x.reshape(*x.shape[:-1], *reversed(self.image_shape)).swapaxes(-1, -2)


def array_dataset(
    train: Any, valid: Any = None, test: Any = None, *, name: str = "arrays"
) -> Dataset:
    """A data set for models given as functions: each split any tree of arrays, rows in front.

    >>> array_dataset({"x": np.zeros((5, 2))}).train
    ArrayRows(5 rows of float64[2])
    """
    rows = ArrayRows(train)
    held_out, final = (
        rows.take([]) if split is None else ArrayRows(split) for split in (valid, test)
    )
    return Dataset(name, rows, held_out, final, binarisation="none: arrays as they are")


def _always_here() -> str | None:
    return None


@dataclass(frozen=True)
class DatasetEntry:
    """A line of the registry.

    Attributes:
        name: what `load_dataset` knows it by.
        description: one line for a person.
        sizes: rows of train, valid and test.
        features: the number of columns.
        load: makes the `Dataset`; its parameters are the options a user can give.
        absence: says in one sentence why it cannot be loaded here, or None.
    """

    name: str
    description: str
    sizes: tuple[int, int, int]
    features: int
    load: Callable[..., Dataset]
    absence: Callable[[], str | None] = _always_here

    def present(self) -> bool:
        """Whether it can be loaded here."""
        return self.absence() is None
