"""Where the rows of experiments are trained and where their results go."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wakesleep.atomic import write_atomically
from wakesleep.errors import DataError
from wakesleep.reproduce.experiments import Experiment, Row, load_experiment
from wakesleep.reproduce.quick import quick, shrunk


class OutOfTimeError(Exception):
    """The budget is spent, or a stop was asked for; what was done is on the disk."""


class Budget:
    """When to stop: after some minutes, or when asked to."""

    def __init__(self, minutes: float | None, asked: Callable[[], bool] = lambda: False):
        self.deadline = None if minutes is None else time.monotonic() + 60 * minutes
        self.asked = asked

    def spent(self) -> bool:
        """Whether it is time to stop."""
        late = self.deadline is not None and time.monotonic() >= self.deadline
        return late or self.asked()

    def check(self) -> None:
        """Raise `OutOfTimeError` when it is."""
        if self.spent():
            raise OutOfTimeError

    def watching(self, progress: Callable[[int, int], None]) -> Callable[[int, int], None]:
        """The same progress, which also stops unfinished work when it is time."""

        def show_and_check(done: int, total: int) -> None:
            progress(done, total)
            if done < total:
                self.check()

        return show_and_check


@dataclass(frozen=True)
class ExperimentStore:
    """The folders of runs and results, and whether experiments are taken in their quick form.

    A row's run folder is `runs/<experiment>/<row>`: no two rows share one.
    """

    runs: Path
    results: Path
    quick: bool = False

    def experiment(self, name: str) -> Experiment:
        """By name."""
        loaded = load_experiment(name)
        return quick(loaded) if self.quick else loaded

    def source_of(self, row: Row) -> Row:
        """The row whose model a figure looks at."""
        assert row.source is not None
        experiment, name = row.source
        source = load_experiment(experiment).row(name)
        return shrunk(source) if self.quick else source

    def run_path(self, row: Row) -> Path:
        """Where the row is trained."""
        return self.runs / row.experiment / row.slug

    def result_path(self, row: Row, suffix: str = ".json") -> Path:
        """Where its result goes."""
        return self.results / row.experiment / f"{row.slug}{suffix}"

    def result(self, row: Row) -> dict[str, Any] | None:
        """The row's result, if it has one."""
        return self.beside(row, ".json")

    def beside(self, row: Row, suffix: str) -> dict[str, Any] | None:
        """What a file beside the row's result says, if there is one."""
        path = self.result_path(row, suffix)
        if not path.exists():
            return None
        try:
            result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DataError(f"{path} is not the result of a row: {error}") from None
        return result

    def write_result(self, row: Row, result: dict[str, Any], suffix: str = ".json") -> None:
        """Keep a row's result, or what is written beside it."""
        text = json.dumps(result, indent=2) + "\n"
        write_atomically(self.result_path(row, suffix), text.encode())
