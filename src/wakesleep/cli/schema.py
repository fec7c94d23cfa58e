"""`wakesleep schema`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro


@dataclass
class Schema:
    """Show what the columns of a table are taken for: kinds, levels, bins, gaps.

    NAME=KIND changes a column: binary, categorical, numeric, date, drop, or
    ordinal:LEVEL,LEVEL,... in order.

    Example: wakesleep schema survey.csv --column age=numeric
    """

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """A table: .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .feather."""
    column: Annotated[tyro.conf.UseAppendAction[list[str]], tyro.conf.arg(metavar="NAME=KIND")] = (
        field(default_factory=list)
    )
    """What a column is, where the data would mislead; may be given more than once."""
    columns_file: Annotated[Path | None, tyro.conf.arg(metavar="TOML")] = None
    """A TOML file with the tables [columns] and [options]."""
    missing: Literal["cell", "level"] | None = None
    """level: missing-ness is a level of the columns that have gaps; cell: gaps are left out."""
    bins: int | None = None
    """How many bins number columns have; about 2 N^(1/3) for N rows otherwise."""
    no_header: bool = False
    """The first row has values, not names."""
    encoding: str = "utf-8"
    """Of the characters of a text file."""
    json: bool = False
    """Print the schema as a JSON object instead of a table."""

    def run(self) -> int:
        """Look at the table and print."""
        from wakesleep.schema import (
            infer_schema,
            load_choices,
            options_from,
            parse_choices,
            read_frame,
        )

        choices, options = load_choices(self.columns_file) if self.columns_file else ({}, {})
        given = {"missing": self.missing, "bins": self.bins}
        options = options | {name: value for name, value in given.items() if value is not None}
        header = False if self.no_header else None
        frame = read_frame(self.file, header=header, encoding=self.encoding)
        schema = infer_schema(
            frame,
            choices | parse_choices(self.column),
            options_from(options, str(self.columns_file or "options")),
        )
        if self.json:
            import json

            print(json.dumps(schema.to_dict(), indent=2))
            return 0
        show_schema(schema)
        return 0


def show_schema(schema: Any, *, stderr: bool = False) -> None:
    """Print a schema's table and its notes; `train` shows the same before it begins."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("column", "kind", "levels or bins", "units", "missing", "note")
    for row in schema.table():
        missing = f"{row.missing:.1%}" if row.missing else ""
        units = str(row.units) if row.units else ""
        cells = (row.name or "(no name)", row.kind, row.detail, units, missing, row.note)
        table.add_row(*map(escape, cells))
    console = Console(stderr=stderr)
    console.print(table)
    for note in schema.notes:
        console.print(escape(note), highlight=False)
    rows, groups = schema.rows, len(schema.groups)
    console.print(f"{rows} rows; {groups} columns of the model have {schema.units} units")
