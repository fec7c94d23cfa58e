"""What a user's table must be, and the one sentence that says where it is not."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.data.bits import PackedBits, row_blocks
from wakesleep.data.grey import GreyRows
from wakesleep.errors import DataError, UsageError

LONGEST_QUOTE = 40


def as_bits(values: Any, what: str = "array") -> PackedBits:
    """Check a user's table and pack it.

    Args:
        values: `[N, D]` of 0 and 1: anything NumPy reads as an array, a SciPy sparse matrix,
            `PackedBits`, which pass through, or `GreyRows`, whose bits are drawn once.
        what: the name of the table in error messages.

    >>> as_bits([[0, 1], [1, 1]]).shape
    (2, 2)
    """
    if isinstance(values, PackedBits):
        return values
    if isinstance(values, GreyRows):
        return values.once()
    table: Any = values if _is_sparse(values) else _dense(values, what)
    check_shape(table.shape, what)
    if table.dtype.kind not in "biuf":
        raise DataError(
            f"{what} holds values of type {table.dtype}, but it must be a numeric array of 0 and 1"
        )
    rows = table.tocsr() if _is_sparse(table) else table
    return PackedBits.from_blocks(_checked_blocks(rows, what))


def check_shape(shape: tuple[int, ...], what: str) -> None:
    """Raise a `DataError` unless this is the shape of a table with something in it."""
    if len(shape) != 2:
        raise DataError(
            f"{what} has {len(shape)} dimension{'' if len(shape) == 1 else 's'}, shape {shape}, "
            "but it must have 2: rows and columns"
        )
    for count, kind in zip(shape, ("rows", "columns"), strict=True):
        if count == 0:
            raise DataError(f"{what} has no {kind}, but it must have at least one")


def check_width(bits: Any, features: int, what: str) -> None:
    """Raise a `DataError` unless the table is as wide as a model's visible layer."""
    if bits.shape[-1] != features:
        raise DataError(
            f"{what} has {bits.shape[-1]} columns, but the model was made for {features}"
        )


def check_same_width(tables: Mapping[str, Any]) -> None:
    """Raise a `DataError` unless all the named tables are as wide as the first."""
    (first, reference), *others = tables.items()
    for name, table in others:
        if table.features != reference.features:
            raise DataError(
                f"{name} has {table.features} columns, but {first} has {reference.features}: "
                "all splits must be equally wide"
            )


def bad_cell(place: str, value: str, counted: str = "rows") -> DataError:
    """The error for a value that is no bit; `value` is as a person would quote it."""
    quote = value if len(value) <= LONGEST_QUOTE else value[:LONGEST_QUOTE] + "..."
    return DataError(
        f"{place}: found {quote}, but every value must be 0 or 1 "
        f"({counted} and columns count from 1)"
    )


def frozen_stream(seed: int, *stream: int) -> np.random.RandomState:
    """Randomness that decides which rows are in which split.

    `RandomState`, because NumPy promises that its numbers never change: with a newer NumPy,
    a `Generator` might move rows from the training set to the test set.
    """
    if not 0 <= seed < 2**32:
        raise UsageError(f"seed {seed} must be a whole number from 0 to 4294967295")
    return np.random.RandomState([seed, *stream])


def _is_sparse(values: Any) -> bool:
    """Told by its method, so that dense data never waits for SciPy's import."""
    return hasattr(values, "tocsr")


def _dense(values: Any, what: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as error:
        raise DataError(
            f"{what} is not a table: every row must have the same number of values"
        ) from error


def _checked_blocks(table: Any, what: str) -> Iterator[npt.NDArray[Any]]:
    for part in row_blocks(*table.shape):
        block = table[part].toarray() if _is_sparse(table) else table[part]
        wrong = (block != 0) & (block != 1)
        if wrong.any():
            row, column = np.unravel_index(wrong.argmax(), wrong.shape)
            place = f"{what}, row {part.start + row + 1}, column {column + 1}"
            raise bad_cell(place, str(block[row, column].item()))
        yield block
