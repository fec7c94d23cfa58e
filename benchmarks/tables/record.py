"""What was measured, in a file that keeps each number as it arrives. No pandas, no JAX here."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

Row = dict[str, Any]
Values = dict[str, Any]
"""Numbers by name, and words about them."""


class Key(NamedTuple):
    part: str
    table: str
    split: int
    method: str


def key_of(row: Row) -> Key:
    return Key(row["part"], row["table"], row["split"], row["method"])


@dataclass(frozen=True)
class Store:
    """A file of lines of JSON; what a killed benchmark wrote is there when it goes on."""

    path: Path

    def rows(self) -> list[Row]:
        """All lines; the last one of a killed process may be half a line, and is measured again."""
        if not self.path.exists():
            return []
        found: dict[Key, Row] = {}
        for text in self.path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(text)
            except json.JSONDecodeError:
                continue
            found[key_of(row)] = row
        return list(found.values())

    def done(self) -> set[Key]:
        return {key_of(row) for row in self.rows()}

    def add(self, row: Row) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            # Begun on a line of its own, whatever a killed process left behind.
            broken = file.tell() and not self.path.read_bytes().endswith(b"\n")
            file.write(("\n" if broken else "") + json.dumps(row) + "\n")
