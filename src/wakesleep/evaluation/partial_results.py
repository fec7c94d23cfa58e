"""An evaluation on disk, so that an interrupted one continues."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import numpy.typing as npt

from wakesleep.errors import DataError, UsageError
from wakesleep.evaluation.records import RECORD, Records
from wakesleep.inference.rows import Rows
from wakesleep.models import LatentModel
from wakesleep.storage import load_arrays, read_header, save_arrays


@dataclass(frozen=True)
class Checkpoint:
    """Finished examples at a path.

    Examples are evaluated independently of each other, so the finished ones are all the
    state there is: what is drawn for an unfinished one is drawn again.

    Attributes:
        path: the file.
        fingerprint: what is evaluated and how; a file with another one is refused.
    """

    path: Path
    fingerprint: str

    def save(self, records: Records, done: npt.NDArray[np.bool_]) -> None:
        """Write, atomically."""
        save_arrays(self.path, _as_bytes(records, done), {"evaluation": self.fingerprint})

    def load(self, records: Records, done: npt.NDArray[np.bool_]) -> None:
        """Fill in what is finished; nothing where there is no file."""
        if not self.path.exists():
            return
        stored_fingerprint = read_header(self.path).get("evaluation")
        if stored_fingerprint is None:
            raise DataError(f"{self.path} holds no evaluation")
        if stored_fingerprint != self.fingerprint:
            raise UsageError(
                f"{self.path} belongs to an evaluation of another model, of other data or with "
                "other settings: name another file, or remove this one to start again"
            )
        stored = load_arrays(self.path, _as_bytes(records, done))
        # Bytes, because JAX would round float64 to float32.
        records[:] = np.frombuffer(np.asarray(stored["records"]).tobytes(), RECORD)
        done[:] = np.asarray(stored["done"])


def fingerprint(model: LatentModel, rows: Rows, *settings: Any) -> str:
    """A digest of everything a result depends on; of a model's own functions, their names."""
    digest = hashlib.sha256(repr(settings).encode())
    arrays, structure = jax.tree.flatten(eqx.filter(model, eqx.is_array))
    # Where a function stands in memory is another matter in every process.
    digest.update(re.sub(r" at 0x[0-9a-f]+", "", str(structure)).encode())
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.asarray(array).tobytes())
    for part in rows.content():
        digest.update(part)
    return digest.hexdigest()


def _as_bytes(records: Records, done: npt.NDArray[np.bool_]) -> dict[str, npt.NDArray[np.uint8]]:
    return {"records": records.view(np.uint8), "done": done.view(np.uint8)}
