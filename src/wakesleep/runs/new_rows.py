"""Rows of another file for a run's model: columns by name, notes, numbers and identifiers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.data import load_dataset
from wakesleep.data.people_tables import TableOptions, packed
from wakesleep.errors import DataError, UsageError
from wakesleep.runs.loading import Run
from wakesleep.runs.yardstick import Rows, fixed_rows
from wakesleep.schema import Cells, Encoded, Frame, Schema, UnseenLevelError, without_unseen

ROW = "row"


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows fit for a model.

    Attributes:
        rows: the bits.
        log_measure: what a row's log-probability lacks to be in the table's units, `[N]`.
        frame: the table as it was read; None for bits without names.
        encoded: its rows as states; None for bits without names.
        notes: what a person should know.
        schema: what the columns are; None for bits without names.
    """

    rows: Rows
    log_measure: npt.NDArray[np.float64]
    frame: Frame | None = None
    encoded: Encoded | None = None
    notes: tuple[str, ...] = ()
    schema: Schema | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def oddity(self, log_likelihood: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """How odd each row is, by its log-likelihood and by its columns one by one."""
        if self.schema is None or self.encoded is None:
            return -log_likelihood
        return self.schema.oddity(self.encoded, log_likelihood)

    def named(self, columns: Mapping[str, npt.NDArray[Any] | Cells]) -> Frame:
        """A table for these rows: their numbers in the file and identifiers in front."""
        count = len(self)
        nothing = np.zeros(count, bool)
        identifiers = self.identifiers()
        front = [*identifiers]
        if ROW not in [cells.name for cells in identifiers]:
            front.insert(0, Cells(ROW, "whole", np.arange(1, count + 1), nothing))
        taken = {cells.name for cells in front}
        clash = sorted(taken & set(columns))
        if clash:
            raise UsageError(f"the column {clash[0]!r} has a name that is used: rename it")
        made = [
            values if isinstance(values, Cells) else _number_cells(name, values)
            for name, values in columns.items()
        ]
        return Frame((*front, *made), count, "the result")

    def identifiers(self) -> list[Cells]:
        """The table's columns that name its rows."""
        if self.frame is None or self.schema is None:
            return []
        names = [one.name for one in self.schema.columns if one.kind == "identifier"]
        return [self.frame[name] for name in names if name in self.frame]


def _number_cells(name: str, values: npt.NDArray[Any]) -> Cells:
    whole = values.dtype.kind in "iu"
    return Cells(name, "whole" if whole else "real", values, np.zeros(len(values), bool))


def read_new_rows(
    run: Run, source: str | Path, *, unseen: str = "error", encoding: str | None = None
) -> NewRows:
    """Read a file as the run's data were read, but for another encoding of its characters.

    Columns of a table are found by name. With `unseen="missing"` levels that training never saw
    are missing cells; otherwise they are an error where there is no level for others.
    """
    schema = run.schema
    if schema is None:
        rows = fixed_rows(load_dataset(str(source), split=None).train)
        return NewRows(rows, np.zeros(len(rows)))
    own = {} if encoding is None else {"encoding": encoding}
    frame = TableOptions(settings=_reading(run) | own).read(source)
    notes: tuple[str, ...] = ()
    known = frame
    if unseen == "missing":
        known, notes = without_unseen(schema, frame)
    try:
        encoded = schema.encode(known)
    except UnseenLevelError as error:
        raise DataError(f"{error}; --unseen missing takes such cells for missing") from None
    measure = schema.row_measure(encoded)
    return NewRows(
        packed(encoded, schema), measure, frame, encoded, (*encoded.notes, *notes), schema
    )


def _reading(run: Run) -> dict[str, Any]:
    """How the run's own file was read; the separator is found anew."""
    settings = dict(run.config.data.table or {})
    settings.pop("delimiter", None)
    return settings
