"""Data sets of people's own tables: a schema of the training rows, all splits encoded by it."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.data.bits import PackedBits
from wakesleep.data.dataset import SPLITS, Dataset
from wakesleep.data.masked_bits import MaskedBits
from wakesleep.data.splits import Fractions, check_own_splits, split_numbers
from wakesleep.data.table_rows import TableRows
from wakesleep.data.text_files import SEPARATORS, clean, is_number, split_lines
from wakesleep.errors import UsageError
from wakesleep.schema import (
    Column,
    Encoded,
    Frame,
    LevelColumn,
    Schema,
    infer_schema,
    is_table_file,
    options_from,
    read_frame,
    without_unseen,
)
from wakesleep.schema.python_words import in_python
from wakesleep.schema.smoothing import Smoothing

READING = ("delimiter", "header", "encoding", "missing_markers")
"""Settings that say how a file is read; all others are of the schema."""


@dataclass(frozen=True)
class TableOptions:
    """What a person said of a table.

    Attributes:
        columns: what columns are, by name, or as words such as "age=numeric".
        settings: those of `SchemaOptions`, and of reading (`header`, `delimiter`, `encoding`,
            `missing_markers`).
        schema: one that exists already, in place of looking.
    """

    columns: Mapping[str, Any] | Sequence[str] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    schema: Schema | None = None

    @property
    def given(self) -> bool:
        """Whether anything was said, which makes a table of any file."""
        return bool(self.columns or self.settings or self.schema)

    def read(self, source: Any) -> Frame:
        """A file or a frame as a table."""
        reading = {name: self.settings[name] for name in READING if name in self.settings}
        return read_frame(source, **reading)

    def infer(self, frame: Frame) -> Schema:
        """The schema of the training rows."""
        if self.schema is not None:
            return self.schema
        rest = {name: value for name, value in self.settings.items() if name not in READING}
        return infer_schema(frame, self.columns, options_from(rest, "options of the table"))


def encode_splits(
    frames: Mapping[str, Frame], numbers: Mapping[str, npt.NDArray[Any]], options: TableOptions
) -> tuple[dict[str, PackedBits | MaskedBits], TableRows]:
    """The splits' bits by the schema of the training rows, and what bits do not say.

    `numbers` are those of the rows, from 0.
    """
    schema = options.infer(frames["train"])
    encoded, notes = {}, []
    for name, frame in frames.items():
        known, held_out_notes = (frame, ()) if name == "train" else without_unseen(schema, frame)
        encoded[name] = schema.encode(known)
        notes += [f"{name}: {note}" for note in held_out_notes]
    masked = any(not one.observed.all() for one in encoded.values())
    tables = {name: packed(one, schema, masked=masked) for name, one in encoded.items()}
    seen = np.maximum(encoded["train"].observed.sum(axis=0), 1)
    about = TableRows(
        schema,
        {name: schema.row_measure(one) for name, one in encoded.items()},
        {name: np.asarray(rows, np.int64) + 1 for name, rows in numbers.items()},
        {name: _digest(one) for name, one in encoded.items()},
        schema.log_measure(encoded["train"]).sum(axis=0) / seen,
        {name: frame.select(_there(schema, frame)).digest() for name, frame in frames.items()},
        tuple(notes),
        smoothing=Smoothing.of(schema, encoded["train"]),
    )
    return tables, about


def _there(schema: Schema, frame: Frame) -> list[str]:
    """The modelled columns that a table has, in the order of their names."""
    return sorted(name for name in schema.names if name in frame)


def packed(
    encoded: Encoded, schema: Schema, *, masked: bool | None = None
) -> PackedBits | MaskedBits:
    """Encoded rows as a table of bits; `masked` unless nothing is missing, if not said."""
    if len(encoded):
        bits = PackedBits.from_blocks(encoded.blocks())
    else:
        bits = PackedBits.pack(np.zeros((0, schema.units), np.uint8))
    if not (not encoded.observed.all() if masked is None else masked):
        return bits
    return MaskedBits(bits, PackedBits.pack(encoded.observed), schema.groups)


def _digest(encoded: Encoded) -> str:
    """Of what numbers are within their bins; nothing where there are none."""
    if np.isnan(encoded.within).all():
        return ""
    return hashlib.sha256(np.ascontiguousarray(encoded.within).tobytes()).hexdigest()


def load_table(
    sources: Mapping[str, Any], split: Fractions | None, seed: int, options: TableOptions
) -> Dataset:
    """A data set of one table, split by fractions, or of a table for each split."""
    try:
        return _load(sources, split, seed, options)
    except UsageError as error:
        if all(isinstance(source, str | Path) for source in sources.values()):
            raise
        raise type(error)(in_python(str(error))) from None


def _load(
    sources: Mapping[str, Any], split: Fractions | None, seed: int, options: TableOptions
) -> Dataset:
    frames = {name: options.read(source) for name, source in sources.items()}
    if len(frames) > 1:
        check_own_splits("a data set of several tables", split)
        numbers = {name: np.arange(len(frame)) for name, frame in frames.items()}
        nothing = np.arange(0)
        frames = {name: frames.get(name, frames["train"].take(nothing)) for name in SPLITS}
        numbers = {name: numbers.get(name, nothing) for name in SPLITS}
    else:
        whole = frames["train"]
        numbers = split_numbers(len(whole), split, seed, whole.source)
        frames = {name: whole.take(rows) for name, rows in numbers.items()}
    tables, about = encode_splits(frames, numbers, options)
    # Held-out rows may have been taken from the training rows' own table.
    about = dataclasses.replace(
        about, read_again=lambda split: options.read(sources.get(split, sources["train"]))
    )
    source = sources["train"]
    name = Path(source).name.split(".")[0] if isinstance(source, str | Path) else "frame"
    return Dataset(
        name,
        train=tables["train"],
        valid=tables["valid"],
        test=tables["test"],
        binarisation="by the schema",
        table=about,
    )


def is_table(sources: Mapping[str, Any], options: TableOptions) -> bool:
    """Whether these can be nothing but tables with a schema: frames, or files of such kinds."""
    if options.given and not _is_of_bits(options):
        return True
    files = [source for source in sources.values() if isinstance(source, str | Path)]
    if len(files) < len(sources):
        return True
    return any(
        is_table_file(file) and Path(file).suffix.lower() not in SEPARATORS for file in files
    )


def _is_of_bits(options: TableOptions) -> bool:
    """Whether all that was said is the schema of a headed table of 0 and 1."""
    if options.columns or options.settings or options.schema is None:
        return False
    return all(_is_bit_column(column) for column in options.schema.columns)


def _is_bit_column(column: Column) -> bool:
    if not isinstance(column, LevelColumn):
        return False
    return (column.kind, column.levels, column.storage) == ("binary", ("0", "1"), "whole")


def header_of(path: Path) -> tuple[str, ...]:
    """The names in the first line of a .csv or .tsv file; none where it has a number.

    The rule by which a text file is a table: bits have no header, or are bits all the same.
    """
    if path.suffix.lower() not in (".csv", ".tsv") or not path.is_file():
        return ()
    lines = split_lines(path, SEPARATORS[path.suffix.lower()])
    try:
        first = [cell for _, cells in islice(lines, 1) for cell in cells]
    except OSError:
        # Whoever reads the whole of it says what is wrong.
        return ()
    names = tuple(clean(cell).decode("utf-8", "replace") for cell in first)
    return names if any(names) and not any(map(is_number, first)) else ()


def with_names(
    data: Dataset, headers: Sequence[tuple[str, ...]], split: Fractions | None, seed: int
) -> Dataset:
    """A table of bits with the names of its header; as it is where there is none."""
    names = headers[0]
    if not names or not all(names) or len(set(names)) < len(names):
        return data
    columns = [LevelColumn(name, "binary", ("0", "1"), "whole") for name in names]
    counts = {name: len(rows) for name, rows in data.splits.items()}
    numbers = {name: np.arange(count) for name, count in counts.items()}
    if len(headers) == 1:
        numbers = split_numbers(sum(counts.values()), split, seed, data.name)
    about = TableRows(
        Schema(tuple(columns), counts["train"]),
        {name: np.zeros(count) for name, count in counts.items()},
        {name: rows + 1 for name, rows in numbers.items()},
        dict.fromkeys(counts, ""),
        np.zeros(len(columns)),
        {},
    )
    return dataclasses.replace(data, table=about)
