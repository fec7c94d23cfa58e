"""What people say of a table on the command line, as plain values for a run's config."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from wakesleep.errors import UsageError


@dataclass(frozen=True)
class TableOptions:
    """How a table is read, and what its columns are where the data would mislead."""

    column: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="NAME=KIND")
    ] = ()
    """What a column is: binary, categorical, numeric, date, drop, ordinal:LEVEL,LEVEL,... in order,
    or date:FORMAT as strptime has it. May be given more than once."""
    columns_file: Annotated[Path | None, tyro.conf.arg(metavar="TOML")] = None
    """A TOML file with the tables [columns] and [options]."""
    missing: Literal["cell", "level"] | None = None
    """level: missing-ness is a level of the columns that have gaps; cell: gaps are left out."""
    missing_markers: Annotated[str | None, tyro.conf.arg(metavar="TEXT,TEXT")] = None
    """Further spellings of a missing cell, beside an empty one, NA, NaN, null and their like: write
    --missing-markers=-99,unknown."""
    bins: int | None = None
    """How many bins number columns have; about 2 N^(1/3) for N rows otherwise."""
    header: bool = False
    """The first row has names, some of which are numbers, such as years."""
    no_header: bool = False
    """The first row has values, not names."""
    encoding: str | None = None
    """Of the characters of a text file, utf-8 unless given."""

    def choices(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What columns are, and the options of the schema and of reading, as far as was said.

        A file's settings come first, so that a run needs it no more.
        """
        from wakesleep.schema import load_choices, options_from, parse_choices

        file = self.columns_file
        choices, options = load_choices(file) if file else ({}, {})
        given = {"missing": self.missing, "bins": self.bins}
        options |= {name: value for name, value in given.items() if value is not None}
        options_from(options, str(file or "options"))
        columns = {**choices, **parse_choices(self.column)}
        plain = {name: _plain(choice) for name, choice in columns.items()}
        return plain, {**options, **self._reading()}

    def _reading(self) -> dict[str, Any]:
        from wakesleep.schema.markers import further_markers

        settings: dict[str, Any] = {}
        if self.header and self.no_header:
            raise UsageError("--header and --no-header contradict each other: give one of them")
        if self.header or self.no_header:
            settings["header"] = self.header
        if self.encoding:
            settings["encoding"] = self.encoding
        if self.missing_markers is not None:
            settings["missing_markers"] = further_markers(self.missing_markers)
        return settings


def _plain(choice: Any) -> dict[str, Any]:
    names = ("kind", "levels", "bins", "format", "missing")
    plain = {name: getattr(choice, name) for name in names}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in plain.items()
        if value is not None
    }
