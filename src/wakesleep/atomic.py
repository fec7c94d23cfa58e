"""Files that are there whole or not at all. No JAX here: data sets are written with it too."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from wakesleep.errors import WakesleepError


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes its place at `path` once it is whole and on the disk.

    A crash, a kill or a full disk before that leaves what stood there.
    """
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files only their owner can read; this one is an ordinary result.
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise WakesleepError(
            f"{path} could not be written ({error.strerror}); what stood there is unchanged"
        ) from error
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Put content at path, whole or not at all."""
    with replaced(path) as file:
        file.write(content)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
