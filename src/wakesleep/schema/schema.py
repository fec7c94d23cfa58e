"""A schema: what each column of a table is, rows to bits in groups, and back."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.errors import DataError, UsageError
from wakesleep.schema.bins import Middle
from wakesleep.schema.columns import Column, LeftOutColumn
from wakesleep.schema.frame import Frame, Mask, listed, quoted
from wakesleep.schema.reading import read_frame

Bits = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

SHOWN_COLUMNS = 8


def group_size(states: int) -> int:
    """The units of a group: one bit for two states, one per state for more."""
    return 1 if states == 2 else states


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows of a table as states of groups.

    Attributes:
        codes: `[N, G]`, each group's state; -1 where it is missing.
        within: `[N, G]`, a number's own value; NaN for what is none.
        states: how many each group has.
        notes: what a person should know: unseen levels, columns that are missing or unknown.
    """

    codes: Codes
    within: Floats
    states: tuple[int, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def observed(self) -> Mask:
        """`[N, G]`, true where there is a value."""
        return self.codes >= 0

    @cached_property
    def bits(self) -> Bits:
        """`[N, D]`; a missing group's units are all 0."""
        return bits_of(self.codes, self.states)

    def blocks(self, rows: int = 4096) -> Iterator[Bits]:
        """The bits of some rows at a time, for tables whose bits are many."""
        for start in range(0, len(self), rows):
            yield bits_of(self.codes[start : start + rows], self.states)


def bits_of(codes: Codes, states: tuple[int, ...]) -> Bits:
    """States `[N, G]` as bits `[N, D]`."""
    sizes = [group_size(count) for count in states]
    bits = np.zeros((len(codes), sum(sizes)), np.uint8)
    ends = np.cumsum(sizes)
    for group, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        code = codes[:, group]
        if size == 1:
            bits[:, end - 1] = code == 1
        else:
            seen = np.flatnonzero(code >= 0)
            bits[seen, end - size + code[seen]] = 1
    return bits


def codes_of(bits: npt.NDArray[Any], sizes: tuple[int, ...], observed: Mask | None = None) -> Codes:
    """Bits `[N, D]` in groups of these sizes as states `[N, G]`; -1 where one is not observed."""
    codes = np.empty((len(bits), len(sizes)), np.int32)
    for group, (size, end) in enumerate(zip(sizes, np.cumsum(sizes), strict=True)):
        part = bits[:, end - size : end]
        codes[:, group] = part[:, 0] if size == 1 else part.argmax(1)
    return codes if observed is None else np.where(observed, codes, -1).astype(np.int32)


@dataclass(frozen=True)
class ColumnSummary:
    """A row of the table that shows a schema."""

    name: str
    kind: str
    detail: str
    units: int
    missing: float
    note: str


@dataclass(frozen=True, eq=False)
class Schema:
    """What the columns of a table are.

    Attributes:
        columns: every column of the training rows, in order, those left out included.
        rows: how many training rows it was made of.
        notes: what was said when it was made.
    """

    columns: tuple[Column, ...]
    rows: int = 0
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = [f"{column.name} ({column.kind})" for column in self.columns]
        more = [f"{len(shown) - SHOWN_COLUMNS} more"] if len(shown) > SHOWN_COLUMNS else []
        return f"Schema({self.units} bits; columns {', '.join(shown[:SHOWN_COLUMNS] + more)})"

    @cached_property
    def modelled(self) -> tuple[Column, ...]:
        """The columns that are groups of a model, in order."""
        return tuple(column for column in self.columns if column.states)

    @property
    def states(self) -> tuple[int, ...]:
        """How many states each group has, that of missing-ness included."""
        return tuple(column.states + column.missing_level for column in self.modelled)

    @property
    def groups(self) -> tuple[int, ...]:
        """How many units each group has."""
        return tuple(map(group_size, self.states))

    @property
    def units(self) -> int:
        """D, the number of bits of a row."""
        return sum(self.groups)

    @property
    def names(self) -> tuple[str, ...]:
        """The groups' columns."""
        return tuple(column.name for column in self.modelled)

    def encode(self, table: Any) -> Encoded:
        """Rows as states and bits; columns are found by name, whatever their order.

        A column that is not there is missing in every row, one that is unknown is ignored, and
        the notes say so. Whatever `read_frame` takes is a table.
        """
        frame = read_frame(table)
        notes: list[str] = []
        self._compare_names(frame, notes)
        codes = np.full((len(frame), len(self.modelled)), -1, np.int32)
        within = np.full((len(frame), len(self.modelled)), np.nan)
        group = 0
        for column in self.columns:
            if column.name in frame:
                state, value = self._column_codes(column, frame, notes)
            else:
                state, value = np.full(len(frame), -1), np.full(len(frame), np.nan)
            if column.states:
                missing = column.states if column.missing_level else -1
                codes[:, group] = np.where(state < 0, missing, state)
                within[:, group] = value
                group += 1
        return Encoded(codes, within, self.states, (*frame.notes, *notes))

    def _column_codes(self, column: Column, frame: Frame, notes: list[str]) -> Any:
        cells = frame[column.name]
        if cells.storage == "unknown" and column.states and not cells.missing.all():
            raise DataError(
                f"column {quoted(column.name)} of {frame.source} cannot be read, since "
                f"{cells.problem}: give it as it was in training"
            )
        return column.codes(frame, notes.append)

    def _compare_names(self, frame: Frame, notes: list[str]) -> None:
        absent = [name for name in self.names if name not in frame]
        known = {column.name for column in self.columns}
        unknown = [name for name in frame.names if name not in known]
        if len(absent) == len(self.names):
            raise DataError(
                f"{frame.source} has none of the columns that the model knows "
                f"({listed(self.names)}): its own are {listed(frame.names)}"
            )
        if absent:
            notes.append(f"{frame.source} has no column {listed(absent)}: missing in every row")
        if unknown:
            notes.append(f"{frame.source}: column {listed(unknown)} is unknown and ignored")

    def log_measure(self, encoded: Encoded) -> Floats:
        """`[N, G]`: what is added to a state's log-probability to give the value's log-density.

        0 for levels and for missing cells. A density is in the column's own units (nats per
        unit); whole numbers, dates and atoms have probabilities.
        """
        measure = np.zeros(encoded.codes.shape)
        for group, column in enumerate(self.modelled):
            codes = encoded.codes[:, group].astype(np.int64)
            measure[:, group] = column.log_measure(codes, encoded.within[:, group])
        return measure

    def codes(self, bits: npt.ArrayLike, observed: npt.ArrayLike | None = None) -> Codes:
        """Bits `[N, D]` as states `[N, G]`, -1 where a group is not observed."""
        table = np.asarray(bits)
        if table.ndim != 2 or table.shape[1] != self.units:
            raise UsageError(f"bits have the shape {table.shape}, but rows have {self.units} units")
        seen = np.ones((len(table), len(self.groups)), bool)
        if observed is not None:
            seen = np.broadcast_to(np.asarray(observed, bool), seen.shape)
        for group, (size, end) in enumerate(zip(self.groups, np.cumsum(self.groups), strict=True)):
            if size > 1:
                self._check_one_hot(table[:, end - size : end], seen[:, group], self.names[group])
        return codes_of(table, self.groups, seen)

    def _check_one_hot(self, part: npt.NDArray[Any], seen: Mask, name: str) -> None:
        wrong = seen & ((part != 0).sum(1) != 1)
        if wrong.any():
            row = int(wrong.argmax())
            raise UsageError(
                f"row {row + 1} of the bits has {int((part[row] != 0).sum())} levels of column "
                f"{quoted(name)} where it must have one"
            )

    def decode(
        self,
        bits: npt.ArrayLike,
        rng: np.random.Generator | int | None,
        observed: npt.ArrayLike | None = None,
        *,
        tails: bool = True,
    ) -> Frame:
        """Rows of bits as a table, but for columns that are left out.

        Args:
            bits: `[N, D]`.
            rng: decides where in its bin a number is; an integer is a seed, None the middle.
            observed: `[N, G]`; what is not observed is missing in the table.
            tails: whether numbers may lie outside the training range.
        """
        codes = self.codes(bits, observed)
        generator: Any = Middle() if rng is None else np.random.default_rng(rng)
        cells = []
        group = 0
        for column in self.columns:
            if isinstance(column, LeftOutColumn):
                continue
            state = np.zeros(len(codes), np.int64)
            if column.states:
                state = codes[:, group].astype(np.int64)
                state[state >= column.states] = -1
                group += 1
            cells.append(column.cells(state, generator, tails))
        return Frame(tuple(cells), len(codes), "the decoded rows")

    def table(self) -> list[ColumnSummary]:
        """A row per column, for a person."""
        return [
            ColumnSummary(
                column.name,
                column.kind,
                column.detail(),
                group_size(column.states + column.missing_level) if column.states else 0,
                column.missing,
                "; ".join(
                    part
                    for part in (column.note, "missing is a level" if column.missing_level else "")
                    if part
                ),
            )
            for column in self.columns
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        from wakesleep.schema.schema_files import schema_to_dict

        return schema_to_dict(self)

    @classmethod
    def from_dict(cls, values: Any, where: str = "the schema") -> "Schema":
        """The schema that `to_dict` was called on; a `DataError` for anything else."""
        from wakesleep.schema.schema_files import schema_from_dict

        return schema_from_dict(values, where)
