"""Grey tables in NumPy files: uint8 from 0 to 255, or floating-point numbers from 0 to 1."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.data.bits import row_blocks
from wakesleep.data.checks import check_shape
from wakesleep.data.grey import GreyRows
from wakesleep.data.mapping import assemble, read
from wakesleep.data.numpy_files import WIDTH, open_archive, readable, wanted_arrays
from wakesleep.errors import DataError

EXTENSIONS = (".npy", ".npz")


def read_grey(path: Path) -> GreyRows | dict[str, GreyRows]:
    """One table, or the tables of the splits if the file has arrays named so."""
    if path.suffix.lower() == ".npy":
        with readable(path):
            array = np.lib.format.open_memmap(path, mode="r")
        return as_grey(array, str(path))
    with open_archive(path) as archive:
        names = set(archive.files)
        if WIDTH in names:
            raise DataError(f"{path} holds packed bits, which need no binarisation")
        arrays = {name: archive[name] for name in wanted_arrays(names, path)}
    tables = {name: as_grey(array, f"{path}, array '{name}'") for name, array in arrays.items()}
    return tables if len(tables) > 1 else next(iter(tables.values()))


def as_grey(array: npt.NDArray[Any], what: str) -> GreyRows:
    """Check a user's table of grey values; a mapped file stays on the disk."""
    check_shape(array.shape, what)
    if array.dtype == np.uint8:
        _check_bytes(array, what)
        return GreyRows(array)
    if array.dtype.kind != "f":
        raise DataError(
            f"{what} holds values of type {array.dtype}, but grey values must be uint8 "
            "from 0 to 255 or floating-point numbers from 0 to 1"
        )
    blocks = _checked_blocks(array, what)
    if array.dtype != np.float32:
        return GreyRows(assemble(block.astype(np.float32) for block in blocks))
    for _ in blocks:
        pass
    return GreyRows(array)


def _check_bytes(array: npt.NDArray[Any], what: str) -> None:
    """In bytes from 0 to 255 a table of bits would pass for almost black."""
    if all(read(array, part).max() <= 1 for part in row_blocks(*array.shape)):
        raise DataError(
            f"{what} holds nothing above 1 of 255: bits need no binarisation, "
            "and grey values from 0 to 1 must be floating-point numbers"
        )


def _checked_blocks(array: npt.NDArray[Any], what: str) -> Iterator[npt.NDArray[Any]]:
    for part in row_blocks(*array.shape):
        block = read(array, part)
        wrong = ~((block >= 0) & (block <= 1))
        if wrong.any():
            row, column = np.unravel_index(wrong.argmax(), wrong.shape)
            raise DataError(
                f"{what}, row {part.start + row + 1}, column {column + 1}: found "
                f"{block[row, column].item()}, but floating-point grey values must be from 0 to 1 "
                "(rows and columns count from 1)"
            )
        yield block
