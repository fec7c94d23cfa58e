"""The run folder: what a run writes, where, and that only one process writes it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from wakesleep.atomic import write_atomically
from wakesleep.errors import DataError, UsageError, WakesleepError
from wakesleep.runs.config import RunConfig, read_config


@dataclass(frozen=True)
class RunFolder:
    """`runs/<name>/` and the names of the files in it."""

    path: Path

    @property
    def config_path(self) -> Path:
        """All that is needed to run it again."""
        return self.path / "config.toml"

    @property
    def metrics_path(self) -> Path:
        """One JSON object per epoch."""
        return self.path / "metrics.jsonl"

    @property
    def model_path(self) -> Path:
        """The best parameters, for `load_model`."""
        return self.path / "model.safetensors"

    @property
    def data_path(self) -> Path:
        """What the data were: sizes, digests, how a row is shown."""
        return self.path / "data.json"

    @property
    def schema_path(self) -> Path:
        """What the columns of the table are, if the data are one."""
        return self.path / "schema.json"

    @property
    def yardstick_path(self) -> Path:
        """What new rows are compared with: scores of training rows, frequencies of levels."""
        return self.path / "yardstick.json"

    @property
    def evaluation_path(self) -> Path:
        """What `wakesleep evaluate` measured; every example's numbers are in the .npz beside it."""
        return self.path / "evaluation.json"

    @property
    def diagnostics_path(self) -> Path:
        """What the report shows of the model."""
        return self.path / "diagnostics.safetensors"

    @property
    def table_path(self) -> Path:
        """What the report shows of a table: columns, odd rows, samples beside data."""
        return self.path / "table.json"

    @property
    def diverged_path(self) -> Path:
        """Of a candidate that is out of the choice: how it diverged."""
        return self.path / "diverged.json"

    @property
    def checkpoints(self) -> Path:
        """Resumable states."""
        return self.path / "checkpoints"

    @property
    def pretraining(self) -> Path:
        """Resumable states of a deep belief network's RBMs, until its first phase begins."""
        return self.path / "pretraining"

    def config(self) -> RunConfig:
        """Read config.toml, of a folder that holds nothing but files and folders of its own."""
        check_contents(self.path)
        return read_config(self.config_path)

    def write_config(self, config: RunConfig) -> None:
        """Write config.toml."""
        write_atomically(self.config_path, config.to_toml().encode())

    def records(self) -> list[dict[str, Any]]:
        """The epochs so far; a last line cut short by a crash is left out."""
        if not self.metrics_path.exists():
            return []
        try:
            lines = self.metrics_path.read_text(encoding="utf-8").split("\n")
            records = [json.loads(line) for line in lines[:-1]]
        except (ValueError, RecursionError, OSError) as error:
            raise DataError(f"{self.metrics_path} cannot be read ({error})") from None
        for number, record in enumerate(records, start=1):
            if not isinstance(record, dict) or not isinstance(record.get("epoch"), int):
                raise DataError(f"{self.metrics_path}, line {number}: it has no epoch")
        return records

    def write_records(self, records: list[dict[str, Any]]) -> None:
        """Replace the epochs so far."""
        text = "".join(json.dumps(record) + "\n" for record in records)
        write_atomically(self.metrics_path, text.encode())

    def check_usable(self) -> None:
        """Refuse a path that can be no folder, before any work is done."""
        try:
            there = next(place for place in (self.path, *self.path.parents) if place.exists())
        except OSError as error:
            raise UsageError(
                f"{str(self.path)[:100]} cannot be a folder: {error.strerror}"
            ) from None
        if not there.is_dir():
            raise UsageError(f"{self.path} cannot be a run folder: {there} is a file")

    @contextmanager
    def locked(self, name: str = ".lock") -> Iterator[None]:
        """Hold the folder; a second process is refused, a dead one leaves nothing behind.

        `name` is the lock's: an evaluation, which may go on beside a training, has its own.
        """
        self.check_usable()
        check_contents(self.path)
        lock = FileLock(self.path / name)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout:
            raise UsageError(f"another process is working in {self.path}") from None
        except OSError as error:
            raise WakesleepError(f"{self.path} cannot be written to: {error.strerror}") from error
        try:
            yield
        finally:
            lock.release()


def check_contents(folder: Path) -> None:
    """Refuse a folder with links that lead out of it, or with what is no file (a pipe, a device).

    Whatever is read from or written to a run folder then stays in it, wherever it came from.
    """
    inside = folder.resolve()
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place) / name
            if path.is_symlink() and not path.resolve().is_relative_to(inside):
                raise DataError(
                    f"{path} is a link out of the run folder: put the file itself there"
                )
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise DataError(f"{path} is neither a file nor a folder: remove it")
