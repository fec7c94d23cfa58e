"""Data sets of bits. `DATASETS` is the only registry: a new set is one file and one line here."""

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wakesleep.data.archives import PACKED_SETS, load_mnist_grey
from wakesleep.data.arrays import ArrayRows
from wakesleep.data.bars import BARS, bars_entropy, bars_log_prob
from wakesleep.data.bits import PackedBits
from wakesleep.data.checks import as_bits, check_width
from wakesleep.data.dataset import SPLITS, Dataset, DatasetEntry, Table, array_dataset
from wakesleep.data.digits import DIGITS
from wakesleep.data.files import load_files
from wakesleep.data.grey import GreyRows
from wakesleep.data.masked_bits import MaskedBits
from wakesleep.data.mnist_dynamic import MNIST_DYNAMIC
from wakesleep.data.pack import pack_dataset, write_packed
from wakesleep.data.penguins import PENGUINS
from wakesleep.data.splits import DEFAULT_SPLIT, Fractions, check_own_splits
from wakesleep.errors import UsageError

__all__ = [
    "DATASETS",
    "DEFAULT_SPLIT",
    "SPLITS",
    "ArrayRows",
    "Dataset",
    "DatasetEntry",
    "GreyRows",
    "Listing",
    "MaskedBits",
    "PackedBits",
    "Table",
    "array_dataset",
    "as_bits",
    "bars_entropy",
    "bars_log_prob",
    "check_width",
    "list_datasets",
    "load_dataset",
    "load_mnist_grey",
    "pack_dataset",
    "write_packed",
]

DATASETS: dict[str, DatasetEntry] = {
    entry.name: entry
    for entry in (BARS, DIGITS, PENGUINS, MNIST_DYNAMIC, *(known.entry() for known in PACKED_SETS))
}
"""Every data set `load_dataset` knows by name."""


@dataclass(frozen=True)
class Listing:
    """What a person sees of a registered data set; `absence` says why it is not here, or None."""

    name: str
    description: str
    sizes: tuple[int, int, int]
    features: int
    absence: str | None


def list_datasets() -> list[Listing]:
    """Every registered data set, and whether it can be loaded here."""
    return [
        Listing(entry.name, entry.description, entry.sizes, entry.features, entry.absence())
        for entry in DATASETS.values()
    ]


def load_dataset(
    source: Any,
    *,
    split: Fractions | None = DEFAULT_SPLIT,
    seed: int = 0,
    **options: Any,
) -> Dataset:
    """A registered data set by name, or one made of files or frames.

    A file of 0 and 1 is a table of bits. A .csv or .tsv with a header, a .csv.gz, .parquet or
    .feather and a frame (pandas, polars, Arrow) is a table with a schema: names, categories,
    numbers and gaps become bits in groups (docs/tables.md).

    Args:
        source: a name in `DATASETS`, a file (.npy, .npz, .csv, .tsv, .data, .amat, .parquet, ...,
            or .safetensors as `write_packed` makes them), a frame, or files or frames by split,
            `{"train": ..., "valid": ..., "test": ...}`.
        split: fractions of train, valid and test for a single table; None puts every row in
            train. A source that has splits keeps them.
        seed: for whatever is drawn: a single table's split, or the rows of a generated set.
        options: a registered set's own (bars: `size`, `train`, `valid`, `test`), or for files
            `valid`, `test` (more files), `image_shape` and `binarise` ("dynamic" or a threshold,
            for grey values), for tables `columns`, `table` and `schema` (see `load_files`).

    >>> load_dataset("bars", size=3, train=100).train.shape
    (100, 9)
    """
    if isinstance(source, str) and source in DATASETS:
        return _load_registered(DATASETS[source], split, seed, options)
    if isinstance(source, str) and not _is_path(source):
        raise UsageError(
            f"unknown data set '{source}'; valid: {', '.join(DATASETS)}, or a path to a file"
        )
    _check_options("a data set of files", load_files, options)
    return load_files(source, split=split, seed=seed, **options)


def _load_registered(
    entry: DatasetEntry, split: Fractions | None, seed: int, options: dict[str, Any]
) -> Dataset:
    check_own_splits(f"data set '{entry.name}'", split)
    _check_options(f"data set '{entry.name}'", entry.load, options)
    seeded = "seed" in inspect.signature(entry.load).parameters
    return entry.load(**options, **({"seed": seed} if seeded else {}))


def _check_options(what: str, loader: Any, options: dict[str, Any]) -> None:
    named = {"source", "split", "seed"}
    valid = [name for name in inspect.signature(loader).parameters if name not in named]
    for name in options:
        if name not in valid:
            raise UsageError(f"{what} has no option '{name}'; valid: {', '.join(valid) or 'none'}")


def _is_path(source: str) -> bool:
    path = Path(source)
    return path.exists() or bool(path.suffix) or len(path.parts) > 1
