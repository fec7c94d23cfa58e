"""A schema: what each column of a table is, rows to bits in groups, and back."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.errors import DataError, UsageError
from wakesleep.schema.bins import Bins, Middle
from wakesleep.schema.columns import Column, LeftOutColumn
from wakesleep.schema.encoded import Codes, Encoded, Floats, codes_of, group_size
from wakesleep.schema.frame import Frame, Mask, listed, quoted
from wakesleep.schema.gap_patterns import GapPatterns
from wakesleep.schema.markers import MARKERS
from wakesleep.schema.numbers import NumberColumn, with_shared_values
from wakesleep.schema.reading import read_frame
from wakesleep.schema.typical import TypicalColumns
from wakesleep.schema.within import Within

SHOWN_COLUMNS = 8


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
        within: where in their bins the numbers of a row are; None for uniform.
        typical: what columns of training rows that are not odd look like; None where nobody looked.
        markers: the spellings of a missing cell in the training rows; None for the usual ones.
        gaps: which cells are missing together; None where no training row has a gap.
    """

    columns: tuple[Column, ...]
    rows: int = 0
    notes: tuple[str, ...] = ()
    within: Within | None = None
    typical: TypicalColumns | None = None
    markers: tuple[str, ...] | None = None
    gaps: GapPatterns | None = None

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

    def read(self, table: Any) -> Frame:
        """A table whose missing cells are written as in the training rows."""
        return read_frame(table, missing_markers=MARKERS if self.markers is None else self.markers)

    def encode(self, table: Any) -> Encoded:
        """Rows as states and bits; columns are found by name, whatever their order.

        A column that is not there is missing in every row, one that is unknown is ignored, and
        the notes say so. Whatever `read_frame` takes is a table.
        """
        frame = self.read(table)
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

    def row_measure(self, encoded: Encoded) -> Floats:
        """`[N]`: what is added to the log-probability of a row's bits to give its log-likelihood.

        The sum of `log_measure`, and what is known of the numbers' places in their bins.
        """
        measure = self.log_measure(encoded).sum(axis=1)
        if self.within is not None:
            groups = list(self.within.groups)
            codes, values = encoded.codes[:, groups], encoded.within[:, groups]
            measure += self.within.log_ratio(codes, values, self.bins_within())
        return np.asarray(measure)

    def oddity(self, encoded: Encoded, log_likelihood: Floats) -> Floats:
        """How odd each row is, in nats, `[N]`: the mean of two surprises.

        One is minus the model's log-likelihood, the other that of `typical` columns, which do not
        know odd rows of the training for normal. Without these it is the first alone.
        """
        if self.typical is None:
            return -log_likelihood
        return -(log_likelihood + self.typical.log_prob(encoded)) / 2

    def bins_within(self) -> list[Bins]:
        """Of the columns whose numbers are placed in them."""
        columns = [self.modelled[group] for group in (self.within.groups if self.within else ())]
        return [column.bins for column in columns if isinstance(column, NumberColumn)]

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
        tails: bool = False,
        known: Floats | None = None,
        shares: Floats | None = None,
    ) -> Frame:
        """Rows of bits as a table, but for columns that are left out.

        Args:
            bits: `[N, D]`.
            rng: decides where in its bin a number is; an integer is a seed, None the middle.
            observed: `[N, G]`; what is not observed is missing in the table.
            tails: whether numbers may lie beyond the training range and where no row has one, as
                the density has it, a row or two of the training's N. Nobody wants a fourth of
                three grades.
            known: `[N, G]`, numbers that are known and stay, as `Encoded.within` has them; the
                others of the row are placed beside them.
            shares: `[N, G]`, where in the probability of its bin a number is, in place of chance.
        """
        codes = self.codes(bits, observed).astype(np.int64)
        codes[codes >= np.array([column.states for column in self.modelled])] = -1
        generator: Any = Middle() if rng is None else np.random.default_rng(rng)
        drawn = {
            group: column.draw(codes[:, group], generator, tails)
            if shares is None
            else column.bins.at(np.maximum(codes[:, group], 0), shares[:, group])
            for group, column in enumerate(self.modelled)
            if isinstance(column, NumberColumn)
        }
        if rng is not None or known is not None:
            drawn |= self._placed(codes, drawn, generator, (known, shares))
        if rng is not None and shares is None and not tails:
            drawn |= with_shared_values(self.modelled, (codes, known), drawn, generator)
        cells, group = [], 0
        for column in self.columns:
            if isinstance(column, LeftOutColumn):
                continue
            state = codes[:, group] if column.states else np.zeros(len(codes), np.int64)
            if isinstance(column, NumberColumn):
                cells.append(column.cells_of(drawn[group], state < 0))
            else:
                cells.append(column.cells(state, generator, tails))
            group += bool(column.states)
        return Frame(tuple(cells), len(codes), "the decoded rows")

    def _placed(
        self,
        codes: npt.NDArray[np.int64],
        drawn: dict[int, Floats],
        rng: Any,
        given: tuple[Floats | None, Floats | None],
    ) -> dict[int, Floats]:
        """The drawn numbers where the row's others make them likely."""
        if self.within is None:
            return {}
        groups = list(self.within.groups)
        missing = codes[:, groups] < 0
        values = np.where(missing, np.nan, np.stack([drawn[group] for group in groups], axis=1))
        known, shares = (None if each is None else each[:, groups] for each in given)
        stay = np.full(values.shape, np.nan) if known is None else known
        cells = codes[:, groups], values, stay
        placed = self.within.place(*cells, self.bins_within(), rng, shares)
        return dict(zip(groups, np.where(missing, 0.0, placed).T, strict=True))

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
