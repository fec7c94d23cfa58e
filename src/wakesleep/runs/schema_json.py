"""The schema of a run's table, in the run folder: schema.json. No JAX here."""

import json
from pathlib import Path

from wakesleep.atomic import write_atomically
from wakesleep.errors import DataError
from wakesleep.schema import Schema


def write_schema(path: Path, schema: Schema | None) -> None:
    """Write schema.json; none where there is no schema."""
    if schema is None:
        path.unlink(missing_ok=True)
    else:
        write_atomically(path, (json.dumps(schema.to_dict(), indent=2) + "\n").encode())


def read_schema(path: Path) -> Schema | None:
    """Read schema.json; None where there is no such file."""
    if not path.exists():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error})") from None
    return Schema.from_dict(values, str(path))
