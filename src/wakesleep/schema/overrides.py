"""What a person says a column is: `age=numeric`, a TOML file, a mapping."""

import csv
import difflib
import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wakesleep.errors import UsageError
from wakesleep.options import Choice, Whole
from wakesleep.schema.frame import listed, quoted

KINDS = ("binary", "categorical", "ordinal", "numeric", "date", "drop")
KEYS = ("kind", "levels", "bins", "format", "missing")
_NAME_AND_KIND = re.compile(rf"(.*?)=((?:{'|'.join(KINDS)})(?::.*)?)", re.DOTALL)
"""Names and levels may have equals signs and colons of their own."""


@dataclass(frozen=True)
class ColumnChoice:
    """What a column shall be.

    Attributes:
        kind: one of `KINDS`; None leaves it to the data.
        levels: of an ordinal column, in order; of a categorical one, all there may be.
        bins: of a number column.
        format: of dates in text, as `strptime` has it.
        missing: "level" makes missing-ness a level of this column, "cell" does not.
        where: how errors call the place it was said at.
    """

    kind: str | None = None
    levels: tuple[str, ...] | None = None
    bins: int | None = None
    format: str | None = None
    missing: str | None = None
    where: str = ""


Choices = Mapping[str, ColumnChoice]


def parse_choices(words: Iterable[str]) -> dict[str, ColumnChoice]:
    """Choices from the command line: `name=kind`, or `name=ordinal:low,middle,high`.

    The name may be empty: R writes its row names under such a one.

    >>> parse_choices(["grade=ordinal:low,high"])["grade"].levels
    ('low', 'high')
    """
    choices = {}
    for word in words:
        found = _NAME_AND_KIND.fullmatch(word)
        name, equals, kind = (found[1], "=", found[2]) if found else word.rpartition("=")
        if not equals:
            raise UsageError(f"--column {word}: write it as NAME=KIND, such as age=numeric")
        choices[name] = _choice(kind, f"--column {word}")
    return choices


def column_option(name: str, kind: str) -> str:
    """What `parse_choices` takes, as it is typed in a shell.

    >>> column_option("house price", "numeric")
    "--column 'house price=numeric'"
    """
    return f"--column {shlex.quote(f'{name}={kind}')}"


def _spelled(text: str) -> dict[str, Any]:
    """`numeric`, `date:%d.%m.%Y` or `ordinal:low,middle,high` as a table."""
    kind, colon, rest = text.partition(":")
    if not colon:
        return {"kind": kind}
    if kind == "date":
        return {"kind": kind, "format": rest}
    levels = next(csv.reader([rest], skipinitialspace=True), [])
    return {"kind": kind, "levels": [level.strip() for level in levels]}


def load_choices(path: str | Path) -> tuple[dict[str, ColumnChoice], dict[str, Any]]:
    """Choices from a TOML file's table [columns], and what its table [options] has."""
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not a TOML file: {error}") from None
    unknown = sorted(set(values) - {"columns", "options"})
    if unknown:
        raise UsageError(
            f"{path} has {quoted(unknown[0])}, but a schema's file has the tables [columns] and "
            "[options] alone"
        )
    for table in ("columns", "options"):
        if not isinstance(values.get(table, {}), dict):
            raise UsageError(f"{path}: {table} must be a table, [{table}]")
    columns = {
        name: _choice(value, f"{path}, column {quoted(name)}")
        for name, value in values.get("columns", {}).items()
    }
    return columns, values.get("options", {})


def as_choices(overrides: Mapping[str, Any] | Sequence[str] | None) -> dict[str, ColumnChoice]:
    """Choices from whatever a person gives: a mapping to kinds or tables, or `name=kind` words."""
    if overrides is None:
        return {}
    if not isinstance(overrides, Mapping):
        return parse_choices([overrides] if isinstance(overrides, str) else overrides)
    return {
        name: value if isinstance(value, ColumnChoice) else _choice(value, f"column {quoted(name)}")
        for name, value in overrides.items()
    }


def check_names(choices: Choices, names: Sequence[str], source: str) -> None:
    """Raise a `UsageError` for a choice of a column that is not there."""
    for name, choice in choices.items():
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {quoted(near[0])}?" if near else f"it has {listed(names)}"
            raise UsageError(f"{choice.where}: {source} has no column {quoted(name)}; {hint}")


def _choice(value: Any, where: str) -> ColumnChoice:
    plain = _spelled(value) if isinstance(value, str) else value
    if not isinstance(plain, Mapping):
        raise UsageError(f"{where}: must be a kind ({', '.join(KINDS)}) or a table, not {value!r}")
    unknown = sorted(set(plain) - set(KEYS))
    if unknown:
        raise UsageError(f"{where}: has no setting {unknown[0]!r}; valid: {', '.join(KEYS)}")
    kind, missing = plain.get("kind"), plain.get("missing")
    bins: Any = plain.get("bins")
    _check(kind, Choice(KINDS), f"{where}: the kind", kind)
    _check(bins, Whole(2), f"{where}: bins", bins)
    _check(missing, Choice(("cell", "level")), f"{where}: missing", missing)
    pattern = plain.get("format")
    if pattern is not None and (not isinstance(pattern, str) or "%" not in pattern):
        raise UsageError(f"{where}: format must be one of strptime, such as %d.%m.%Y")
    levels = _levels(plain.get("levels"), kind, where)
    return ColumnChoice(kind, levels, bins, pattern, missing, where)


def _check(value: Any, rule: Choice | Whole, what: str, shown: Any) -> None:
    problem = None if value is None else rule.problem(value)
    if problem:
        raise UsageError(f"{what} {problem}, not {shown!r}")


def _levels(levels: Any, kind: str | None, where: str) -> tuple[str, ...] | None:
    if levels is None:
        if kind == "ordinal":
            raise UsageError(
                f"{where}: an ordinal column needs its levels in order, such as "
                "NAME=ordinal:low,middle,high"
            )
        return None
    if kind not in ("binary", "categorical", "ordinal"):
        raise UsageError(f"{where}: only binary, categorical and ordinal columns have levels")
    if not isinstance(levels, list | tuple) or len(levels) < 2:
        raise UsageError(f"{where}: levels must be a list of two or more")
    texts = tuple(str(level) for level in levels)
    for level in texts:
        if texts.count(level) > 1:
            raise UsageError(f"{where}: the level {quoted(level)} is there twice")
    if kind == "binary" and len(texts) != 2:
        raise UsageError(f"{where}: a binary column has two levels, not {len(texts)}")
    return texts
