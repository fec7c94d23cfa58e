"""Runs: training that lives in a folder, is checkpointed there and goes on after anything."""

import dataclasses
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wakesleep.runs.config import RunConfig
from wakesleep.data import Dataset
from wakesleep.errors import UsageError
from wakesleep.models import HelmholtzMachine
from wakesleep.recipe import Recipe
from wakesleep.runs.checkpoints import Checkpointer, latest_checkpoint, load_checkpoint
from wakesleep.training.events import Observer
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.observers import MetricsLogger, SamplePictures, TensorBoardLogger
from wakesleep.training.initial import initial_model
from wakesleep.training.session import FitResult, fit
from wakesleep.training.snapshot import Snapshot


@dataclass(frozen=True)
class RunOptions:
    """Who is told of a run's progress, and how often it leaves something on the disk."""

    observers: Sequence[Observer] = ()
    should_stop: Callable[[], bool] = lambda: False
    checkpoint_interval: float | int = 30.0
    pictures_every: int = 0


def start_run(
    path: Path, config: RunConfig, watch: RunOptions | None = None, *, overwrite: bool = False
) -> FitResult:
    """Train into a new folder."""
    folder = RunFolder(path)
    config = dataclasses.replace(config, data=config.data.resolved())
    data = config.data.load()
    model = initial_model(config.model, data, config.recipe, config.seed)
    with folder.locked():
        if folder.config_path.exists():
            if not overwrite:
                raise UsageError(
                    f"{path} holds a run already: --resume {path} continues it, "
                    "--overwrite replaces it"
                )
            _clear(folder)
        folder.write_config(config)
        return _fit(folder, config, data, model, None, watch or RunOptions())


def resume_run(path: Path, watch: RunOptions | None = None, *, extend: int = 0) -> FitResult | None:
    """Go on with a run as if it had never stopped; None where it is finished already.

    `extend` adds a phase of that many epochs, like the last one, to the recipe.
    """
    folder = RunFolder(path)
    config = folder.config()
    with folder.locked():
        checkpoint = latest_checkpoint(folder)
        data = config.data.load()
        snapshot = load_checkpoint(checkpoint, config.recipe, data.train) if checkpoint else None
        if extend:
            config = dataclasses.replace(config, recipe=extended(config.recipe, extend))
            snapshot = dataclasses.replace(snapshot, finished=False) if snapshot else None
            folder.write_config(config)
        elif snapshot and snapshot.position.phase == len(config.recipe.expand()):
            return None
        model = initial_model(config.model, data, config.recipe, config.seed)
        return _fit(folder, config, data, model, snapshot, watch or RunOptions())


def extended(recipe: Recipe, epochs: int) -> Recipe:
    """The recipe with one more phase, like its last, of so many epochs."""
    phases = recipe.phases or ({},)
    return dataclasses.replace(recipe, phases=(*phases, {**phases[-1], "epochs": epochs}))


def _fit(
    folder: RunFolder,
    config: RunConfig,
    data: Dataset,
    model: HelmholtzMachine,
    snapshot: Snapshot | None,
    watch: RunOptions,
) -> FitResult:
    # The checkpoint comes last: whatever another observer wrote of an epoch is there before it.
    observers: tuple[Observer, ...] = (
        MetricsLogger(folder),
        TensorBoardLogger(folder),
        SamplePictures(folder, data, watch.pictures_every),
        Checkpointer(folder, watch.checkpoint_interval),
        *watch.observers,
    )
    return fit(
        model,
        data,
        config.recipe,
        seed=config.seed,
        observers=observers,
        resume=snapshot,
        should_stop=watch.should_stop,
        progress=False,
    )


def _clear(folder: RunFolder) -> None:
    """Remove what a run wrote and nothing else that may be in the folder."""
    for name in ("checkpoints", "samples", "tensorboard"):
        shutil.rmtree(folder.path / name, ignore_errors=True)
    for path in (folder.metrics_path, folder.model_path, folder.evaluation_path):
        path.unlink(missing_ok=True)
