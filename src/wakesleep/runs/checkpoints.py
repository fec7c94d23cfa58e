"""Checkpoints: a snapshot in one safetensors file, so that it is there whole or not at all."""

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx

from wakesleep.data import Table
from wakesleep.errors import DataError
from wakesleep.models import LatentModel
from wakesleep.recipe import Recipe
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.model_files import shapes_from
from wakesleep.storage import load_arrays, model_header, read_header, save_arrays, save_model
from wakesleep.training.events import EpochDone, Event, Finished, Interrupted
from wakesleep.training.snapshot import Best, Position, Snapshot, phase_arrays

KEEP = 2


def save_checkpoint(folder: RunFolder, snapshot: Snapshot) -> Path:
    """Write a snapshot, then drop all but the newest few."""
    header = {
        **model_header(snapshot.arrays.state.model),
        "position": dataclasses.asdict(snapshot.position),
        "best": dataclasses.asdict(snapshot.best),
        "seconds": snapshot.seconds,
        "finished": snapshot.finished,
        "processor_seconds": snapshot.processor_seconds,
    }
    path = folder.checkpoints / f"step-{int(snapshot.arrays.state.step):010d}.safetensors"
    save_arrays(path, snapshot.arrays, header)
    for old in sorted(folder.checkpoints.glob("step-*.safetensors"))[:-KEEP]:
        old.unlink()
    return path


def latest_checkpoint(folder: RunFolder) -> Path | None:
    """The newest checkpoint's path, if there is any."""
    return max(folder.checkpoints.glob("step-*.safetensors"), default=None)


def load_checkpoint(
    path: Path, recipe: Recipe, rows: Table, template: LatentModel | None = None
) -> Snapshot:
    """Read a snapshot of a run with this recipe on these training rows.

    `template` has the structure of a model that was given as functions.
    """
    progress = read_progress(path)
    phases = recipe.expand()
    phase = phases[min(progress.position.phase, len(phases) - 1)]
    model = shapes_from(read_header(path), path, template)

    like = eqx.filter_eval_shape(lambda model: phase_arrays(model, phase, rows, 0), model)
    return Snapshot(load_arrays(path, like), **vars(progress))


@dataclass(frozen=True)
class RunProgress:
    """How far a run had come, which a checkpoint's header tells without its arrays."""

    position: Position
    best: Best
    seconds: float
    finished: bool
    processor_seconds: float


def read_progress(path: Path) -> RunProgress:
    """Read a checkpoint's header."""
    header = read_header(path)
    try:
        position, best = Position(**header["position"]), Best(**header["best"])
        # Checkpoints of earlier versions know nothing of processors.
        spent = float(header.get("processor_seconds", 0.0))
        finished = bool(header["finished"])
        return RunProgress(position, best, float(header["seconds"]), finished, spent)
    except (KeyError, TypeError, ValueError):
        raise DataError(f"{path} is a model but not a checkpoint: nothing to resume") from None


class Checkpointer:
    """An observer that saves at the end of an epoch, at most every `interval` seconds."""

    def __init__(
        self,
        folder: RunFolder,
        interval: float | int = 30.0,
        notes: Mapping[str, Any] | None = None,
    ):
        self.folder = folder
        self.interval = interval
        self.notes = dict(notes or {})
        self.saved_at = time.monotonic()

    def __call__(self, event: Event) -> None:
        """Save what an event carries, if it is time or the last chance."""
        if isinstance(event, EpochDone):
            if time.monotonic() - self.saved_at >= self.interval:
                self.save(event.snapshot)
        elif isinstance(event, Interrupted | Finished):
            self.save(event.snapshot)

    def save(self, snapshot: Snapshot) -> None:
        """Write the checkpoint, and the best model for those who only want that.

        The checkpoint comes last: a run that says that it is finished has its model.
        """
        save_model(snapshot.arrays.best, self.folder.model_path, **self.notes)
        save_checkpoint(self.folder, snapshot)
        self.saved_at = time.monotonic()
