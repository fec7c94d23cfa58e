"""Original files to the packed format that `wakesleep.data.archives` reads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wakesleep.atomic import replaced
from wakesleep.data.archives import PACKED_SETS, PackedSet
from wakesleep.data.bits import PackedBits
from wakesleep.data.checks import as_bits
from wakesleep.data.numpy_files import WIDTH, open_archive
from wakesleep.data.text_files import read_text
from wakesleep.download.sources import SPLITS
from wakesleep.errors import DataError

# What the splits are called in files that have all of them.
ARCHIVE_NAMES = {"train": "train_data", "valid": "valid_data", "test": "test_data"}
MATLAB_NAMES = {"train": "train_data", "valid": "val_data", "test": "test_data"}


def write_converted(name: str, files: Mapping[str, Path], path: Path) -> None:
    """Pack a data set's files at `path`, whole or not at all, if they have its known sizes."""
    (known,) = (one for one in PACKED_SETS if one.name == name)
    tables = {split: read_text(file) for split, file in files.items() if split in SPLITS}
    if not tables:
        (file,) = files.values()
        tables = _read_matlab(file) if file.suffix == ".mat" else _read_archive(file)
    _check_sizes(known, tables)
    rows: dict[str, Any] = {split: table.rows for split, table in tables.items()}
    with replaced(path) as out:
        np.savez_compressed(out, allow_pickle=False, **{WIDTH: np.array(known.features)}, **rows)


def _read_archive(path: Path) -> dict[str, PackedBits]:
    with open_archive(path) as archive:
        missing = set(ARCHIVE_NAMES.values()) - set(archive.files)
        if missing:
            raise DataError(f"{path} lacks the arrays {', '.join(sorted(missing))}")
        return {s: as_bits(archive[name], f"{path}, {name}") for s, name in ARCHIVE_NAMES.items()}


def _read_matlab(path: Path) -> dict[str, PackedBits]:
    from scipy.io import loadmat

    try:
        arrays = loadmat(path, variable_names=list(MATLAB_NAMES.values()))
        return {s: as_bits(arrays[name], f"{path}, {name}") for s, name in MATLAB_NAMES.items()}
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise DataError(f"{path} is not the MATLAB file it should be ({error})") from error


def _check_sizes(known: PackedSet, tables: Mapping[str, PackedBits]) -> None:
    for split, rows in zip(SPLITS, known.sizes, strict=True):
        if tables[split].shape != (rows, known.features):
            shape = " x ".join(map(str, tables[split].shape))
            raise DataError(
                f"the files of '{known.name}' have {shape} bits in {split}, "
                f"but it must be {rows} x {known.features}"
            )
