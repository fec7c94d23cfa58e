"""Pretraining in a run folder: each RBM's training is kept there, and gone on with."""

import shutil
from dataclasses import dataclass

from wakesleep.data import Dataset, Table
from wakesleep.models import BitModel, LatentModel
from wakesleep.recipe import Recipe
from wakesleep.runs.checkpoints import (
    Checkpointer,
    latest_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from wakesleep.runs.config import RunConfig
from wakesleep.runs.folder import RunFolder
from wakesleep.training.events import Observer, Watched
from wakesleep.training.initial import random_model
from wakesleep.training.pretraining import PretrainingStoppedError, pretrainable, pretrained
from wakesleep.training.snapshot import Snapshot, first_snapshot


def first_model(architecture: str, data: Dataset, recipe: Recipe, seed: int) -> BitModel:
    """Random parameters; pretraining begins once there is a folder to keep it in."""
    model = random_model(architecture, data, recipe, seed)
    return pretrainable(model, recipe) if recipe.pretrain else model


@dataclass(frozen=True)
class PretrainingFolder:
    """`pretraining/` of a run folder, which is there until the first phase begins.

    Attributes:
        run: the run folder.
        interval: seconds between checkpoints, at the end of an epoch.
    """

    run: RunFolder
    interval: float | int

    def pretrain(
        self, config: RunConfig, data: Dataset, model: LatentModel, watched: Watched
    ) -> tuple[Snapshot, bool]:
        """Where the first phase starts from, and True; before pretraining, and False if stopped."""
        try:
            model = pretrained(model, data, config.recipe, config.seed, watched)
        except PretrainingStoppedError:
            return first_snapshot(model, data, config.recipe, config.seed), False
        snapshot = first_snapshot(model, data, config.recipe, config.seed)
        save_checkpoint(self.run, snapshot)
        shutil.rmtree(self.run.pretraining, ignore_errors=True)
        return snapshot, True

    def newest(self, layer: int, recipe: Recipe, rows: Table) -> Snapshot | None:
        """Where the training of an RBM stands, if it was begun."""
        checkpoint = latest_checkpoint(self._place(layer))
        return None if checkpoint is None else load_checkpoint(checkpoint, recipe, rows)

    def observer(self, layer: int) -> Observer:
        """What keeps it."""
        return Checkpointer(self._place(layer), self.interval)

    def _place(self, layer: int) -> RunFolder:
        return RunFolder(self.run.pretraining / str(layer))
