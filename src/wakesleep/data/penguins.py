"""A small table of mixed columns with gaps that is always at hand: penguins (public domain)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakesleep.data.dataset import Dataset, DatasetEntry
from wakesleep.data.splits import DEFAULT_SPLIT

if TYPE_CHECKING:
    # Loaded by those who have tables: `--help` does not wait for it.
    from wakesleep.schema import Schema

FILE = Path(__file__).parent / "tables" / "penguins.csv"
"""Its source is in the README.md beside it."""


def load_penguins(
    columns: Mapping[str, Any] | Sequence[str] | None = None,
    table: Mapping[str, Any] | None = None,
    schema: "Schema | None" = None,
) -> Dataset:
    """The table in splits that never change; the options are those of tables."""
    from wakesleep.data.people_tables import TableOptions, load_table

    return load_table({"train": FILE}, DEFAULT_SPLIT, 0, TableOptions(columns, table or {}, schema))


PENGUINS = DatasetEntry(
    name="penguins",
    description="penguins of three species: categories, numbers, a date and gaps (public domain)",
    sizes=(275, 35, 34),
    features=57,
    load=load_penguins,
)
