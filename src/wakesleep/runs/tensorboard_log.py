"""TensorBoard events, written at once and by nobody else: no queue and no thread can hang."""

import errno
import importlib.util
import os
import struct
import time
from collections.abc import Iterator
from typing import Any

from wakesleep.runs.folder import RunFolder
from wakesleep.training.events import EpochDone, EpochRecord, Event, Started

LARGEST_FILE = 32 << 20
"""Bytes after which a new file is begun."""

KEEP = 8
"""Files of events; of a run that is longer, the oldest events go. metrics.jsonl has them all."""


class TensorBoardLogger:
    """Appends every epoch's numbers to events in tensorboard/, where tensorboardX is installed."""

    def __init__(self, folder: RunFolder):
        self.folder = folder.path / "tensorboard"
        self.path = self.folder / "none"

    @staticmethod
    def installed() -> bool:
        """Whether there is what writes them; metrics.jsonl has the same numbers."""
        return importlib.util.find_spec("tensorboardX") is not None

    def __call__(self, event: Event) -> None:
        """Begin a file on Started, write on EpochDone."""
        if not self.installed():
            return
        if isinstance(event, Started):
            self.begin(event.epochs_done + 1)
        elif isinstance(event, EpochDone):
            if self.path.stat().st_size > LARGEST_FILE:
                self.begin(event.record.epoch)
            self.append(_scalar_events(event.record))

    def begin(self, epoch: int) -> None:
        """A new file; what earlier ones say of this epoch and later ones no longer counts."""
        from tensorboardX.proto.event_pb2 import Event as Written
        from tensorboardX.proto.event_pb2 import SessionLog

        self.folder.mkdir(parents=True, exist_ok=True)
        known = sorted(self.folder.glob("events.out.tfevents.*"))
        for old in known[: max(0, len(known) - KEEP + 1)]:
            old.unlink(missing_ok=True)
        # Names in the order of time, and unlike those of a process that began in this second.
        self.path = self.folder / f"events.out.tfevents.{time.time_ns():020d}.{os.getpid()}"
        start = SessionLog(status=SessionLog.START)
        self.append(
            [
                Written(wall_time=time.time(), file_version="brain.Event:2"),
                Written(wall_time=time.time(), step=epoch, session_log=start),
            ]
        )

    def append(self, events: Any) -> None:
        """Write all of them in one piece."""
        content = b"".join(_framed(event.SerializeToString()) for event in events)
        with self.path.open("ab", buffering=0) as file:
            if file.write(content) != len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))


def _scalar_events(record: EpochRecord) -> Iterator[Any]:
    from tensorboardX.proto.event_pb2 import Event as Written
    from tensorboardX.summary import scalar

    for name, value in _scalars(record).items():
        yield Written(wall_time=time.time(), step=record.epoch, summary=scalar(name, value))


def _framed(content: bytes) -> bytes:
    """A record as TensorFlow's files have it: length, content, and the checksum of each."""
    from tensorboardX.record_writer import masked_crc32c

    length = struct.pack("<Q", len(content))
    checksums = (struct.pack("<I", masked_crc32c(part)) for part in (length, content))
    return length + next(checksums) + content + next(checksums)


def _scalars(record: EpochRecord) -> dict[str, float]:
    values = record.to_dict()
    layers = values.pop("kl")
    scalars = {f"kl/layer {number}": kl for number, kl in enumerate(layers, start=1)}
    names = {name: value for name, value in values.items() if name not in ("epoch", "best")}
    return scalars | {name: float(value) for name, value in names.items() if value is not None}
