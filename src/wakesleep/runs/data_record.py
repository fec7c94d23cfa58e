"""What a run folder knows of its data without having it: data.json. No JAX here."""

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wakesleep.atomic import write_atomically
from wakesleep.data import SPLITS, ArrayRows, Dataset, PackedBits, Table
from wakesleep.errors import DataError
from wakesleep.options import Text, Whole, check_option


@dataclass(frozen=True)
class SplitRecord:
    """The size and the digest of a split's rows.

    `raw_sha256` is that of a table's cells as they were read, whatever a schema makes of them;
    folders of earlier releases have none.
    """

    rows: int
    sha256: str
    raw_sha256: str = dataclasses.field(default="", compare=False)


@dataclass(frozen=True)
class DataRecord:
    """A data set in words and digests; `features` is None where rows are no bits.

    The other attributes are those of `Dataset`.
    """

    name: str
    binarisation: str
    features: int | None
    splits: dict[str, SplitRecord]
    image_shape: tuple[int, int] | None = None
    column_major: bool = False
    inverted: bool = False

    def difference(self, other: "DataRecord") -> str | None:
        """What is different in other data, in words, or None where it is the same."""
        if self.features != other.features:
            return f"it had {_columns(self.features)}, and now has {_columns(other.features)}"
        if self.binarisation != other.binarisation:
            return f"its bits were '{self.binarisation}', and now are '{other.binarisation}'"
        for name, split in self.splits.items():
            if split.rows != other.splits[name].rows:
                return f"{name} had {split.rows} rows, and now has {other.splits[name].rows}"
        changed = [name for name in SPLITS if self.splits[name] != other.splits[name]]
        return f"the contents of {' and '.join(changed)} are others" if changed else None

    def without_rows(self) -> Dataset:
        """A data set of no rows that knows how a row is shown."""
        if self.features is None:
            empty: Table = ArrayRows(np.zeros((0, 1)))
        else:
            empty = PackedBits.pack(np.zeros((0, self.features), np.uint8))
        return Dataset(
            self.name,
            *(empty, empty, empty),
            binarisation=self.binarisation,
            image_shape=self.image_shape,
            column_major=self.column_major,
            inverted=self.inverted,
        )


def record_data(data: Dataset) -> DataRecord:
    """Walk through all rows once."""
    return DataRecord(
        data.name,
        data.binarisation,
        None if isinstance(data.train, ArrayRows) else data.features,
        {
            name: SplitRecord(len(rows), _digest(data, name), _raw_digest(data, name))
            for name, rows in data.splits.items()
        },
        data.image_shape,
        data.column_major,
        data.inverted,
    )


def digest(table: Table, more: str = "") -> str:
    """SHA-256 of all that a table's rows are."""
    whole = hashlib.sha256()
    for part in table.content():
        whole.update(part)
    whole.update(more.encode())
    return whole.hexdigest()


def _digest(data: Dataset, split: str) -> str:
    """Of a split's bits, and of the numbers that they tell up to bins alone."""
    return digest(data.splits[split], data.table.digests[split] if data.table else "")


def _raw_digest(data: Dataset, split: str) -> str:
    return data.table.raw_digests.get(split, "") if data.table else ""


def write_record(path: Path, record: DataRecord) -> None:
    """Write data.json."""
    write_atomically(path, (json.dumps(dataclasses.asdict(record), indent=2) + "\n").encode())


def read_record(path: Path) -> DataRecord:
    """Read data.json."""
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        splits = {name: SplitRecord(**values["splits"][name]) for name in SPLITS}
        shape = values["image_shape"] and tuple(values["image_shape"])
        record = DataRecord(**{**values, "splits": splits, "image_shape": shape})
        _check(record)
        return record
    except (ValueError, TypeError, KeyError, OSError, RecursionError) as error:
        raise DataError(f"{path} does not say what the run's data were ({error})") from None


def _check(record: DataRecord) -> None:
    """Nothing here is shown, or made room for, before it is what it should be."""
    for name in ("name", "binarisation"):
        check_option(name, getattr(record, name), Text())
    for split in record.splits.values():
        check_option("rows", split.rows, Whole())
    if record.features is not None:
        check_option("features", record.features, Whole(least=1))
    for size in record.image_shape or ():
        check_option("image_shape", size, Whole(least=1))
    if record.image_shape and math.prod(record.image_shape) != record.features:
        raise DataError(f"an image of {record.image_shape} has no {record.features} bits")


def _columns(features: int | None) -> str:
    return "no table of bits" if features is None else f"{features} columns"
