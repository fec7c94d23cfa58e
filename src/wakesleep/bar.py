"""What every progress bar has in common."""

from types import TracebackType
from typing import Self

from rich.progress import Progress


class Bar:
    """Something with a bar that is shown within a `with` block."""

    bar: Progress

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()
