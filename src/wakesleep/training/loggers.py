"""Observers that write what a person plots."""

import json

from wakesleep.training.events import EpochDone, Event, Started
from wakesleep.training.folder import RunFolder


class MetricsLogger:
    """Appends every epoch's record to metrics.jsonl.

    When a run goes on from a checkpoint, epochs after it were lost with their parameters:
    their lines are dropped, and written again as they are trained again.
    """

    def __init__(self, folder: RunFolder):
        self.folder = folder

    def __call__(self, event: Event) -> None:
        """Write on EpochDone."""
        if isinstance(event, Started):
            known = self.folder.records()
            self.folder.write_records([r for r in known if r["epoch"] <= event.epochs_done])
        elif isinstance(event, EpochDone):
            with self.folder.metrics_path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(event.record.to_dict()) + "\n")
