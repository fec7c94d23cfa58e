"""A table as this room sees it: named columns of one storage each, with a mask of missing cells."""

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from wakesleep.errors import DataError
from wakesleep.schema.affixes import PLAIN, Affixes

Storage = Literal["text", "whole", "real", "boolean", "date", "datetime", "unknown"]
"""text: str objects; whole: int64; real: float64; boolean: bool; date: datetime64[D]; datetime:
datetime64[us], in UTC where there is a time zone; unknown: what no column can be made of, by
Python's words for it."""

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp] | slice


@dataclass(frozen=True, eq=False)
class Cells:
    """One column of a table.

    Attributes:
        name: the column's name.
        storage: what `values` are.
        values: `[N]`; what stands at a missing cell has no meaning, but for text.
        missing: `[N]`, true where there is no value.
        levels: the levels that the column's own type declares (a pandas Categorical), if any.
        ordered: whether those levels are in an order.
        decimals: of the numbers, when they are written as text; None for as many as it takes.
        comma: whether numbers are written with a decimal comma.
        affixes: signs around and between the digits of numbers that are written as text.
        pattern: how dates are written as text (`strftime`); None for ISO.
        problem: for unknown storage, why.
        native: the column as its library has it (a narwhals Series), for cells that go out as they
            came in; None where there is no such column.
        imputed: `[N]`, the cells that are not in `native`; None for none of them.
    """

    name: str
    storage: Storage
    values: npt.NDArray[Any]
    missing: Mask
    levels: tuple[str, ...] | None = None
    ordered: bool = False
    decimals: int | None = None
    comma: bool = False
    pattern: str | None = None
    problem: str = ""
    affixes: Affixes = PLAIN
    native: Any = None
    imputed: Mask | None = None

    def __len__(self) -> int:
        return len(self.missing)

    def take(self, rows: Rows) -> "Cells":
        """Some of the rows, in the order given."""
        return self.with_values(self.values[rows], self.missing[rows])

    def with_values(self, values: npt.NDArray[Any], missing: Mask) -> "Cells":
        """The column with other cells, which its library never had."""
        return dataclasses.replace(self, values=values, missing=missing, native=None, imputed=None)


@dataclass(frozen=True, eq=False)
class Origin:
    """Where a table came from, so that what goes out can be like what came in.

    Attributes:
        library: pandas, polars, pyarrow or another that narwhals knows; None for a file.
        template: a frame of that library with the columns' types and no rows.
        index: of a pandas frame, a label per row.
    """

    library: str | None = None
    template: Any = None
    index: Any = None


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns by name, in order.

    Attributes:
        cells: the columns.
        rows: how many rows they all have.
        source: what errors call the table: the file's name, mostly.
        lines: the number of each row in what was read, from 1; None where none were left out.
        counted: what those are numbers of, line or row.
        comma: whether numbers may be written with a decimal comma.
        origin: the library it came from.
        notes: what a person should know of the reading.
        markers: the spellings of a missing cell; None for the usual ones.
    """

    cells: tuple[Cells, ...]
    rows: int
    source: str = "the table"
    lines: npt.NDArray[np.int64] | None = None
    counted: str = "row"
    comma: bool = False
    origin: Origin = Origin()
    notes: tuple[str, ...] = ()
    markers: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.cells):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise DataError(
                f"{self.source} has two columns called {quoted(twice)}: rename one of them"
            )

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        return f"Frame({self.source}: {self.rows} rows of {', '.join(self.names)})"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(one.name for one in self.cells)

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Cells:
        for one in self.cells:
            if one.name == name:
                return one
        raise KeyError(name)

    def take(self, rows: npt.ArrayLike | slice) -> "Frame":
        """Some of the rows, in the order given; they keep their lines and labels."""
        chosen = rows if isinstance(rows, slice) else np.asarray(rows, np.intp)
        index = self.origin.index
        return dataclasses.replace(
            self,
            cells=tuple(one.take(chosen) for one in self.cells),
            rows=len(np.arange(self.rows)[chosen]),
            lines=np.arange(1, self.rows + 1)[chosen] if self.lines is None else self.lines[chosen],
            origin=self.origin
            if index is None
            else dataclasses.replace(self.origin, index=index[chosen]),
        )

    def select(self, names: Sequence[str]) -> "Frame":
        """Some of the columns, in the order given."""
        return dataclasses.replace(self, cells=tuple(self[name] for name in names))

    def digest(self) -> str:
        """SHA-256 of names and cells as they were read."""
        whole = hashlib.sha256()
        for one in self.cells:
            whole.update(f"{one.name}\0{one.storage}\0".encode())
            whole.update(one.missing.tobytes())
            if one.values.dtype == object:
                texts = np.where(one.missing, "", one.values).tolist()
                whole.update("\0".join(map(str, texts)).encode())
            else:
                nothing = np.zeros((), one.values.dtype)
                whole.update(np.where(one.missing, nothing, one.values).tobytes())
        return whole.hexdigest()

    def place(self, row: int, name: str) -> str:
        """Where a cell is, in words: "survey.csv, line 17, column 'age'"."""
        number = row + 1 if self.lines is None else int(self.lines[row])
        return f"{self.source}, {self.counted} {number}, column {quoted(name)}"


def stacked(frames: Sequence[Frame], name: str) -> Frame:
    """Tables of the same columns one below the other; a first column counts them from 1."""
    rows = sum(map(len, frames))
    numbers = np.repeat(np.arange(1, len(frames) + 1), [len(frame) for frame in frames])
    cells = [Cells(name, "whole", numbers, np.zeros(rows, bool))]
    for each in zip(*(frame.cells for frame in frames), strict=True):
        values = np.concatenate([one.values for one in each])
        missing = np.concatenate([one.missing for one in each])
        cells.append(each[0].with_values(values, missing))
    return Frame(tuple(cells), rows, frames[0].source, comma=frames[0].comma)


def quoted(text: str, longest: int = 40) -> str:
    """A value or a name as an error quotes it."""
    return repr(text if len(text) <= longest else text[:longest] + "...")


def listed(names: Sequence[str], most: int = 6) -> str:
    """Some names in one line, the first few where they are many."""
    shown = ", ".join(map(quoted, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def object_array(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Objects as a flat array, whatever they are."""
    array = np.empty(len(values), object)
    array[:] = values
    return array
