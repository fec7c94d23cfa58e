"""What people say of a table on the command line, as plain values for a run's config."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class TableWords:
    """The options of a command for tables, as they were given."""

    column: Sequence[str] = ()
    columns_file: Path | None = None
    missing: str | None = None
    bins: int | None = None
    no_header: bool = False
    encoding: str | None = None


def table_choices(words: TableWords) -> tuple[dict[str, Any], dict[str, Any]]:
    """What columns are, and the options of the schema and of reading; what was not said is not in.

    A file's settings come first, so that a run needs it no more.
    """
    from wakesleep.schema import load_choices, options_from, parse_choices

    file = words.columns_file
    choices, options = load_choices(file) if file else ({}, {})
    given = {"missing": words.missing, "bins": words.bins}
    settings = {**options, **{name: value for name, value in given.items() if value is not None}}
    options_from(settings, str(file or "options"))
    if words.no_header:
        settings["header"] = False
    if words.encoding:
        settings["encoding"] = words.encoding
    columns = {**choices, **parse_choices(words.column)}
    return {name: _plain(choice) for name, choice in columns.items()}, settings


def _plain(choice: Any) -> dict[str, Any]:
    names = ("kind", "levels", "bins", "format", "missing")
    plain = {name: getattr(choice, name) for name in names}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in plain.items()
        if value is not None
    }
