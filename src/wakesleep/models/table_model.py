"""A model with the schema of the table it was trained on: tables in, tables out."""

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wakesleep.data import MaskedBits, PackedBits
from wakesleep.errors import UsageError
from wakesleep.models.base import LatentModel

if TYPE_CHECKING:
    # Loaded by those who have tables.
    from wakesleep.schema import Encoded, Frame, Schema

LIBRARIES = ("pandas", "polars", "pyarrow")
"""Where samples go unless told: to the first of these that is installed."""


@dataclass(frozen=True, eq=False)
class TableRowsRead:
    """Rows of a table as a model takes them.

    Attributes:
        rows: the bits.
        log_measure: what a row's log-probability lacks to be in the table's units, `[N]`.
        frame: the table as it was read.
        encoded: its rows as states of columns.
        notes: what a person should know: unseen levels, columns that are absent or unknown.
    """

    rows: PackedBits | MaskedBits
    log_measure: npt.NDArray[np.float64]
    frame: "Frame"
    encoded: "Encoded"
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class TableModel:
    """A model and what the columns of its table are.

    `ws.log_likelihood`, `ws.sample` and `ws.impute` take it in place of a model; rows are then
    frames, files or whatever else `ws.load_dataset` takes for a table, and so is what comes back.

    Attributes:
        model: of the bits.
        schema: from columns to bits, and back.
    """

    model: LatentModel
    schema: "Schema"

    def __repr__(self) -> str:
        return f"TableModel({self.schema!r})"

    def read(self, table: Any, *, unseen: str = "error") -> TableRowsRead:
        """Rows of a table, columns found by name.

        Args:
            table: a frame, a file, an array or lists by column.
            unseen: with "missing", levels that training never saw are missing cells; otherwise
                they are an error where there is no level for others.
        """
        from wakesleep.data.people_tables import packed
        from wakesleep.schema import without_unseen

        frame = self.schema.read(table)
        known, notes = frame, tuple[str, ...]()
        if unseen == "missing":
            known, notes = without_unseen(self.schema, frame)
        encoded = self.schema.encode(known)
        measure = self.schema.row_measure(encoded)
        rows = packed(encoded, self.schema)
        return TableRowsRead(rows, measure, frame, encoded, (*encoded.notes, *notes))


def installed_library() -> str:
    """The first frame library that is there."""
    for name in LIBRARIES:
        if importlib.util.find_spec(name) is not None:
            return name
    raise UsageError(f"a frame needs a library for it: install one of {', '.join(LIBRARIES)}")
