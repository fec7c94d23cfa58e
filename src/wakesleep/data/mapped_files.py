"""Packed bits in .safetensors files, mapped rather than read: data sets larger than memory.

The tensors train, valid and test are uint8 `[N, ceil(D / 8)]`, `np.packbits(bits, axis=1)`, and
the metadata has D as `n_features`. It may have `name`, `binarisation`, `image_shape` ("28 x 28"),
`column_major` and `inverted` ("true"), which are those of `Dataset`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wakesleep.data.bits import Bits, PackedBits
from wakesleep.data.dataset import SPLITS, Dataset
from wakesleep.errors import DataError

EXTENSION = ".safetensors"
LENGTH_BYTES = 8
LONGEST_HEADER = 1 << 20

WIDTH = "n_features"
MOST_FEATURES = 1 << 31
IMAGE_SHAPE = re.compile(r"(\d{1,9}) x (\d{1,9})", re.ASCII)


@dataclass(frozen=True)
class _Tensor:
    rows: int
    start: int

    def map(self, path: Path, width: int) -> Bits:
        shape = (self.rows, width)
        if not self.rows:
            return np.zeros(shape, np.uint8)
        return np.memmap(path, np.uint8, "r", offset=self.start, shape=shape)


def map_dataset(path: Path) -> Dataset:
    """The data set in a file, none of whose rows is read before it is asked for."""
    header, start = _read_header(path)
    metadata = header.pop("__metadata__", {})
    features = _features(metadata, path)
    width = -(-features // 8)
    if "train" not in header or not header.keys() <= set(SPLITS):
        names = ", ".join(header) or "none"
        raise DataError(f"{path} must hold the tensors train, valid and test, but has: {names}")
    tensors = {name: _tensor(header[name], width, start, f"{path}, {name}") for name in header}
    end = max(tensor.start + tensor.rows * width for tensor in tensors.values())
    if path.stat().st_size != end:
        raise DataError(
            f"{path} has {path.stat().st_size} bytes where its header says {end}: "
            "it is truncated or corrupt"
        )
    if not tensors["train"].rows:
        raise DataError(f"{path}, train has no rows, but it must have at least one")
    nothing = _Tensor(0, start)
    train, valid, test = (
        PackedBits(tensors.get(name, nothing).map(path, width), features) for name in SPLITS
    )
    return Dataset(train=train, valid=valid, test=test, **_description(metadata, path))


def _read_header(path: Path) -> tuple[dict[str, Any], int]:
    """The header, and where the tensors start."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(LENGTH_BYTES), "little")
        text = file.read(length) if length <= LONGEST_HEADER else b""
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    if len(text) != length or not isinstance(header, dict):
        raise DataError(
            f"{path} cannot be read: it is not a safetensors file, or a truncated or corrupt one"
        )
    return header, LENGTH_BYTES + length


def _features(metadata: Any, path: Path) -> int:
    try:
        features = int(metadata[WIDTH])
        proper = all(isinstance(value, str) for value in metadata.values())
    except (KeyError, TypeError, ValueError, AttributeError):
        proper = False
    if not proper or not 0 < features < MOST_FEATURES:
        raise DataError(
            f"{path} holds no packed bits: its metadata must have {WIDTH}, "
            "the number of columns before np.packbits"
        )
    return features


def _tensor(entry: Any, width: int, start: int, what: str) -> _Tensor:
    match entry:
        case {"dtype": "U8", "shape": [int(rows), columns], "data_offsets": [int(first), last]} if (
            columns == width and rows >= 0 and first >= 0 and last == first + rows * width
        ):
            return _Tensor(rows, start + first)
    raise DataError(f"{what} must be packed rows: uint8 of {width} bytes each, as {WIDTH} says")


def _description(metadata: Mapping[str, str], path: Path) -> dict[str, Any]:
    shape = IMAGE_SHAPE.fullmatch(metadata.get("image_shape", ""))
    return {
        "name": metadata.get("name", path.stem),
        "binarisation": metadata.get("binarisation", "already binary"),
        "image_shape": (int(shape[1]), int(shape[2])) if shape else None,
        "column_major": metadata.get("column_major") == "true",
        "inverted": metadata.get("inverted") == "true",
    }
