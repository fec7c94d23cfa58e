"""How long something took."""

import time
from dataclasses import replace
from typing import NamedTuple

from wakesleep.training.snapshot import Snapshot


class Clocks(NamedTuple):
    """When something began: by the clock on the wall, and in the processors' time."""

    wall: float
    processors: float

    @classmethod
    def now(cls) -> "Clocks":
        """Both clocks."""
        return cls(time.perf_counter(), time.process_time())

    def since(self) -> tuple[float, float]:
        """What passed since then."""
        return time.perf_counter() - self.wall, time.process_time() - self.processors

    def passed(self, before: Snapshot, snapshot: Snapshot) -> Snapshot:
        """The snapshot with what passed added to what `before` had taken."""
        seconds, processor_seconds = self.since()
        return replace(
            snapshot,
            seconds=before.seconds + seconds,
            processor_seconds=before.processor_seconds + processor_seconds,
        )
