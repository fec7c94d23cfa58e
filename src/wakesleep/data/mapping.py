"""Tables larger than memory: rows of mapped files, read without their pages staying resident."""

import mmap
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from wakesleep.errors import DataError

LARGEST_IN_MEMORY = 1 << 28
"""Bytes of a table that is put together here; a larger one goes to a temporary file."""

ROWS_AT_ONCE = 2048
"""Rows gathered before their pages are dropped: a touched row can bring 64 kB with it."""

Table = npt.NDArray[Any]


def gather(rows: Table, indices: npt.NDArray[np.integer]) -> Table:
    """A copy of the rows at `indices`; a mapped file is read from its start to its end."""
    if _mapping(rows) is None:
        return rows[indices]
    order = np.argsort(indices)
    gathered = np.empty((len(indices), *rows.shape[1:]), rows.dtype)
    for start in range(0, len(order), ROWS_AT_ONCE):
        places = order[start : start + ROWS_AT_ONCE]
        chosen = indices[places]
        gathered[places] = rows[chosen]
        _drop_pages(rows[int(chosen[0]) : int(chosen[-1]) + 1])
    return gathered


def read(rows: Table, index: Any) -> Table:
    """`rows[index]`, which is a copy where the rows are those of a mapped file."""
    chosen = rows[index]
    if _mapping(rows) is None:
        return chosen
    copy = np.array(chosen)
    _drop_pages(chosen if isinstance(index, slice) and index.step in (None, 1) else rows)
    return copy


def assemble(blocks: Iterable[Table]) -> Table:
    """The rows of all blocks, at least one; a large table in a temporary file that is mapped."""
    kept, size = [], 0
    coming = iter(blocks)
    for block in coming:
        kept.append(block)
        size += block.nbytes
        if size > LARGEST_IN_MEMORY:
            return _spool(chain(_emptied(kept), coming))
    return np.concatenate(kept)


def _emptied(blocks: list[Table]) -> Iterator[Table]:
    while blocks:
        yield blocks.pop(0)


def _spool(blocks: Iterable[Table]) -> Table:
    try:
        with tempfile.TemporaryFile() as file:
            return _write_and_map(file, blocks)
    except OSError as error:
        raise DataError(
            f"a table of more than {LARGEST_IN_MEMORY >> 20} MB could not be put into the folder "
            f"for temporary files ({error.strerror}): set TMPDIR to one with room"
        ) from error


def _write_and_map(file: IO[bytes], blocks: Iterable[Table]) -> Table:
    count = 0
    for block in blocks:
        file.write(np.ascontiguousarray(block).data)
        count += len(block)
        dtype, width = block.dtype, block.shape[1:]
    file.flush()
    return np.memmap(file, dtype, "r", shape=(count, *width))


def _mapping(rows: Table) -> mmap.mmap | None:
    return getattr(rows, "_mmap", None)


def _drop_pages(part: Table) -> None:
    """Let go of the pages of consecutive rows; the system's file cache keeps what it can."""
    mapping = _mapping(part)
    # Windows has no such advice, and trims pages by itself.
    if mapping is None or not part.size or not hasattr(mmap, "MADV_DONTNEED"):
        return
    start = _address(part) - _address(np.frombuffer(mapping, np.uint8))
    page = start // mmap.PAGESIZE * mmap.PAGESIZE
    mapping.madvise(mmap.MADV_DONTNEED, page, start - page + part.nbytes)


def _address(array: Table) -> int:
    return int(array.__array_interface__["data"][0])
