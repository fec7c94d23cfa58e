"""Observers that write what a person plots: metrics.jsonl and sample pictures."""

import json
import warnings

import jax

from wakesleep.data import Dataset
from wakesleep.errors import WakesleepError
from wakesleep.models import BitModel, sample_means
from wakesleep.pictures import save_grid
from wakesleep.runs.folder import RunFolder
from wakesleep.training.events import EpochDone, Event, Observer, Started

PICTURED = 100


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
            try:
                with self.folder.metrics_path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(event.record.to_dict()) + "\n")
            except OSError as error:
                raise WakesleepError(
                    f"{self.folder.metrics_path} could not be written ({error.strerror})"
                ) from error


class BestEffort:
    """An observer whose failure to write costs a warning, once, and not the training."""

    def __init__(self, observer: Observer, what: str):
        self.observer = observer
        self.what = what
        self.failed = False

    def __call__(self, event: Event) -> None:
        """Pass it on, as long as there was no failure."""
        if self.failed:
            return
        try:
            self.observer(event)
        except (OSError, WakesleepError) as error:
            self.failed = True
            reason = getattr(error, "strerror", None) or error
            warnings.warn(f"no more {self.what} are written ({reason})", UserWarning, stacklevel=2)


class SamplePictures:
    """Every few epochs, a grid of the averaged machine's samples in samples/."""

    def __init__(self, folder: RunFolder, data: Dataset, every: int):
        self.folder = folder
        self.data = data
        self.every = every

    def __call__(self, event: Event) -> None:
        """Draw on EpochDone, where the data are images."""
        if self.every and self.data.image_shape and isinstance(event, EpochDone):
            epoch, model = event.record.epoch, event.snapshot.arrays.state.average
            if epoch % self.every == 0 and isinstance(model, BitModel):
                # The same key every time: what changes from picture to picture is the model.
                pictures = self.data.images(sample_means(model, PICTURED, key=jax.random.key(0)))
                path = self.folder.path / "samples" / f"epoch-{epoch:05d}.png"
                save_grid(path, pictures, inverted=self.data.inverted)
