"""Tables in NumPy files: .npy, and .npz with dense, packed or SciPy sparse arrays."""

import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.npyio import NpzFile

from wakesleep.data.bits import PackedBits
from wakesleep.data.checks import as_bits, check_shape
from wakesleep.data.dataset import SPLITS
from wakesleep.errors import DataError, WakesleepError

WIDTH = "n_features"
"""The array whose presence says that the others in the file are packed."""

BROKEN = (
    *(OSError, EOFError, ValueError, KeyError, TypeError, OverflowError, MemoryError),
    *(RuntimeError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""What NumPy, SciPy and zipfile raise on bytes that are not what they should be."""

SMALL, LARGEST_RATIO = 100 << 20, 300
"""Bytes that any archive may hold, and how many times its own size a larger one may."""

OBJECTS = ("Object arrays", "Python objects")
"""How NumPy says that a file would need unpickling."""


def read_numpy(path: Path) -> PackedBits | dict[str, PackedBits]:
    """One table, or the tables of the splits if the file has arrays named so.

    Python objects are never unpickled.
    """
    if path.suffix.lower() == ".npy":
        with readable(path):
            array = np.lib.format.open_memmap(path, mode="r")
        return as_bits(array, str(path))
    return _read_archive(path)


def check_archive(path: Path) -> None:
    """Refuse an .npz whose arrays would take far more memory than its bytes can justify."""
    with zipfile.ZipFile(path) as archive:
        whole = sum(entry.file_size for entry in archive.infolist())
    if whole > max(SMALL, LARGEST_RATIO * path.stat().st_size):
        raise DataError(
            f"{path} says that its {path.stat().st_size} bytes hold {whole}: that is no table"
        )


@contextmanager
def open_archive(path: Path) -> Iterator[NpzFile]:
    """An .npz whose file is closed even if it turns out to be broken, as `np.load` forgets."""
    with readable(path), path.open("rb") as stream:
        check_archive(path)
        archive = np.load(stream, allow_pickle=False)
        if not isinstance(archive, NpzFile):
            raise ValueError("a single array")
        with archive:
            yield archive


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what a reader raises on a broken file into one sentence."""
    try:
        yield
    except WakesleepError:
        raise
    except BROKEN as error:
        if any(sign in str(error) for sign in OBJECTS):
            raise DataError(
                f"{path} holds Python objects, which are never loaded: save a numeric array"
            ) from error
        raise DataError(f"{path} cannot be read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    refused = error.strerror if isinstance(error, OSError) else None
    return refused or "it is not a NumPy file, or a truncated or corrupt one"


def _read_archive(path: Path) -> PackedBits | dict[str, PackedBits]:
    with open_archive(path) as archive:
        names = set(archive.files)
        sparse = {"format", "shape", "data"} <= names
        wanted = [] if sparse else wanted_arrays(names - {WIDTH}, path)
        arrays = {name: archive[name] for name in wanted}
        width = archive[WIDTH] if WIDTH in names else None
    if sparse:
        return as_bits(_sparse(path), str(path))
    tables = {
        name: _table(array, width, f"{path}, array '{name}'") for name, array in arrays.items()
    }
    return tables if len(tables) > 1 else next(iter(tables.values()))


def wanted_arrays(names: set[str], path: Path) -> list[str]:
    """The arrays to read; others beside several splits (labels, say) are left alone."""
    splits = [name for name in SPLITS if name in names]
    if "train" in splits and len(splits) > 1:
        return splits
    if len(names) == 1:
        return list(names)
    arrays = ", ".join(sorted(names)) or "none"
    raise DataError(
        f"{path} must hold one array, or arrays named train, valid and test, but it holds: {arrays}"
    )


def _table(array: npt.NDArray[Any], width: npt.NDArray[Any] | None, what: str) -> PackedBits:
    return as_bits(array, what) if width is None else _packed(array, width, what)


def _packed(rows: npt.NDArray[Any], width: npt.NDArray[Any], what: str) -> PackedBits:
    if width.shape != () or width.dtype.kind not in "iu" or width < 1:
        raise DataError(f"{what}: {WIDTH} must be one whole number of 1 or more, not {width}")
    check_shape(rows.shape, what)
    if not _fits(rows, int(width)):
        raise DataError(
            f"{what} is {rows.dtype} of shape {rows.shape}, which is not np.packbits(bits, axis=1) "
            f"of {width} columns as {WIDTH} says"
        )
    return PackedBits(rows, int(width))


def _fits(rows: npt.NDArray[Any], features: int) -> bool:
    """Also looks at the last byte's padding, where packbits leaves zeros."""
    if rows.dtype != np.uint8 or rows.shape[1] != -(-features // 8):
        return False
    padding = (1 << (-features % 8)) - 1
    return not (rows[:, -1] & padding).any()


def _sparse(path: Path) -> Any:
    from scipy import sparse

    with readable(path):
        matrix = sparse.load_npz(path).tocsr()
        # Unchecked indices outside the matrix would be followed into foreign memory.
        matrix.check_format(full_check=True)
        return matrix
