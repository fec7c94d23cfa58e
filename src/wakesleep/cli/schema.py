"""`wakesleep schema`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from wakesleep.cli.table_options import TableOptions


@dataclass
class Schema:
    """Show what the columns of a table are taken for: kinds, levels, bins, gaps.

    `--column NAME=KIND` changes what a column is.

    Example: wakesleep schema survey.csv --column age=numeric
    """

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """A table: .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .feather."""
    json: bool = False
    """Print the schema as a JSON object instead of a table."""
    table: TableOptions = field(default_factory=TableOptions)

    def run(self) -> int:
        """Look at the table and print."""
        from wakesleep.data import people_tables

        columns, settings = self.table.choices()
        table = people_tables.TableOptions(columns, settings)
        schema = table.infer(table.read(self.file))
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

    table, notes = Table("column", "kind", "levels or bins", "units", "missing"), []
    for row in schema.table():
        missing = f"{row.missing:.1%}" if row.missing else ""
        units = str(row.units) if row.units else ""
        name = row.name or "(no name)"
        table.add_row(*map(escape, (name, row.kind, row.detail, units, missing)))
        if row.note:
            notes.append(f"{name}: {row.note}")
    console = Console(stderr=stderr)
    console.print(table)
    # Not in the table: a narrow terminal would cut the option that a note advises.
    for note in (*notes, *schema.notes):
        console.print(escape(note), highlight=False, soft_wrap=True)
    rows, groups = schema.rows, len(schema.groups)
    columns = "1 column of the model has" if groups == 1 else f"{groups} columns of the model have"
    units = "1 unit" if schema.units == 1 else f"{schema.units} units"
    console.print(f"{rows} rows; {columns} {units}")
