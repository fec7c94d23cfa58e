"""Observers that write what a person plots: metrics.jsonl, TensorBoard events, sample pictures."""

import importlib.util
import json
from typing import Any

import jax

from wakesleep.data import Dataset
from wakesleep.errors import WakesleepError
from wakesleep.models import BitModel, sample_means
from wakesleep.pictures import save_grid
from wakesleep.runs.folder import RunFolder
from wakesleep.training.events import EpochDone, EpochRecord, Event, Finished, Interrupted, Started

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


class TensorBoardLogger:
    """Writes every epoch's numbers as TensorBoard events, where tensorboardX is installed."""

    def __init__(self, folder: RunFolder):
        self.folder = folder
        self.writer: Any = None

    @staticmethod
    def installed() -> bool:
        """Whether there is what writes them; metrics.jsonl has the same numbers."""
        return importlib.util.find_spec("tensorboardX") is not None

    def __call__(self, event: Event) -> None:
        """Open on Started, write on EpochDone, close at the end."""
        if not self.installed():
            return
        if isinstance(event, Started):
            from tensorboardX import SummaryWriter

            # purge_step hides the events of epochs that a resumed run trains again.
            self.writer = SummaryWriter(
                str(self.folder.path / "tensorboard"), purge_step=event.epochs_done + 1
            )
        elif isinstance(event, EpochDone):
            for name, value in _scalars(event.record).items():
                self.writer.add_scalar(name, value, event.record.epoch)
        elif isinstance(event, Interrupted | Finished):
            self.writer.close()


def _scalars(record: EpochRecord) -> dict[str, float]:
    values = record.to_dict()
    layers = values.pop("kl")
    scalars = {f"kl/layer {number}": kl for number, kl in enumerate(layers, start=1)}
    names = {name: value for name, value in values.items() if name not in ("epoch", "best")}
    return scalars | {name: float(value) for name, value in names.items() if value is not None}


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
