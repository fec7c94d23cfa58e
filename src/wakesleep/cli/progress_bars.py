"""Progress of whatever counts its work, on a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from wakesleep.bar import Bar


class EvaluationProgress(Bar):
    """A bar for anything that reports done and total; nothing where there is no terminal."""

    def __init__(self, what: str, *, quiet: bool):
        console = Console(stderr=True)
        self.bar = Progress(
            TextColumn(what),
            BarColumn(),
            TextColumn("{task.percentage:.0f}%"),
            TimeRemainingColumn(),
            console=console,
            disable=quiet or not console.is_terminal,
        )
        self.task = self.bar.add_task(what, total=None)

    def __call__(self, done: int, total: int) -> None:
        """Show how far it is."""
        self.bar.update(self.task, completed=done, total=total)


class DownloadProgress(Bar):
    """A bar per file, with bytes and speed; nothing where there is no terminal."""

    def __init__(self, *, quiet: bool):
        console = Console(stderr=True)
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=quiet or not console.is_terminal,
        )
        self.tasks: dict[str, TaskID] = {}

    def __call__(self, name: str, done: int, total: int | None) -> None:
        """Show how much of a file is there."""
        if name not in self.tasks:
            self.tasks[name] = self.bar.add_task(name, total=total)
        self.bar.update(self.tasks[name], completed=done, total=total)


@contextmanager
def working(what: str) -> Iterator[None]:
    """A sign of life, on a terminal, while something that cannot count its work runs."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield
