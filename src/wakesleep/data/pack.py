"""Writing packed bits to a .safetensors file, block by block, as `load_dataset` maps them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from wakesleep.atomic import replaced
from wakesleep.data.bits import Bits, PackedBits, row_blocks
from wakesleep.data.checks import as_bits
from wakesleep.data.dataset import SPLITS, Dataset
from wakesleep.data.mapped_files import EXTENSION, LENGTH_BYTES, WIDTH
from wakesleep.data.mapping import read
from wakesleep.errors import DataError, UsageError

PAGE = 4096
MOST = 10**15
"""More rows or columns than any file has, for which the header is given room."""

Blocks = PackedBits | npt.NDArray[Any] | Iterable[Any]


def write_packed(
    path: str | Path,
    splits: Mapping[str, Blocks],
    *,
    name: str | None = None,
    binarisation: str = "already binary",
    image_shape: tuple[int, int] | None = None,
    column_major: bool = False,
    inverted: bool = False,
) -> None:
    """Write a data set that need not fit into memory; `load_dataset(path)` maps it.

    A file that stands at the path is replaced when the new one is complete, not before.

    Args:
        path: ends in .safetensors.
        splits: by name, train among them: a table of 0 and 1, or an iterable of blocks
            of rows, each taken and written before the next is asked for.
        name: of the data set; the file's unless given.
        binarisation: how the values became bits.
        image_shape: (rows, columns), if each row is a picture.
        column_major: the picture's pixels run down its columns.
        inverted: the background is 1.
    """
    path = Path(path)
    _check(path, splits)
    metadata = {"name": name or path.stem, "binarisation": binarisation}
    if image_shape:
        metadata["image_shape"] = f"{image_shape[0]} x {image_shape[1]}"
    metadata |= {"column_major": "true"} if column_major else {}
    metadata |= {"inverted": "true"} if inverted else {}
    room = len(_header(metadata, dict.fromkeys(SPLITS, MOST), MOST))
    start = -(-(LENGTH_BYTES + room) // PAGE) * PAGE
    with replaced(path) as file:
        file.seek(start)
        counts, features = _write_rows(file, splits)
        header = _header(metadata, counts, features).ljust(start - LENGTH_BYTES)
        file.seek(0)
        file.write(len(header).to_bytes(LENGTH_BYTES, "little") + header)


def pack_dataset(data: Dataset, path: str | Path) -> None:
    """Write a loaded data set to a .safetensors file, with all that is known of it."""
    fixed = {name: table for name, table in data.splits.items() if isinstance(table, PackedBits)}
    for split in data.splits.keys() - fixed.keys():
        raise UsageError(
            f"data set '{data.name}' draws the bits of {split} anew in every epoch, "
            "so it has none to pack: binarise with a threshold"
        )
    write_packed(
        path,
        fixed,
        name=data.name,
        binarisation=data.binarisation,
        image_shape=data.image_shape,
        column_major=data.column_major,
        inverted=data.inverted,
    )


def _check(path: Path, splits: Mapping[str, Blocks]) -> None:
    if path.suffix.lower() != EXTENSION:
        raise UsageError(f"{path} must end in {EXTENSION}")
    if "train" not in splits or not splits.keys() <= set(SPLITS):
        raise UsageError(
            "splits must be named train, valid and test, with train among them, "
            f"not: {', '.join(splits) or 'nothing'}"
        )


def _write_rows(file: IO[bytes], splits: Mapping[str, Blocks]) -> tuple[dict[str, int], int]:
    """The number of rows of each split, and the number of columns."""
    counts, features = dict.fromkeys(SPLITS, 0), 0
    for split in SPLITS:
        for what, bits in _tables(splits.get(split, ()), split):
            features = features or bits.features
            if bits.features != features:
                raise DataError(
                    f"{what} has {bits.features} columns, but the first block has {features}: "
                    "all must be equally wide"
                )
            for rows in _packed_rows(bits):
                file.write(np.ascontiguousarray(rows).data)
            counts[split] += len(bits)
    if not counts["train"]:
        raise DataError("train has no rows, but it must have at least one")
    return counts, features


def _tables(blocks: Blocks, split: str) -> Iterator[tuple[str, PackedBits]]:
    if isinstance(blocks, PackedBits | np.ndarray):
        yield split, as_bits(blocks, split)
        return
    for number, block in enumerate(blocks, 1):
        what = f"{split}, block {number}"
        yield what, as_bits(block, what)


def _packed_rows(bits: PackedBits) -> Iterator[Bits]:
    return (read(bits.rows, part) for part in row_blocks(*bits.shape))


def _header(metadata: Mapping[str, str], counts: Mapping[str, int], features: int) -> bytes:
    width, end = -(-features // 8), 0
    header: dict[str, Any] = {"__metadata__": {WIDTH: str(features), **metadata}}
    for split, count in counts.items():
        start, end = end, end + count * width
        header[split] = {"dtype": "U8", "shape": [count, width], "data_offsets": [start, end]}
    return json.dumps(header).encode()
