"""Runs: training that lives in a folder, is checkpointed there and goes on after anything."""

import dataclasses
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp

from wakesleep.architecture import build
from wakesleep.config import RunConfig
from wakesleep.data import Dataset
from wakesleep.errors import UsageError
from wakesleep.model import HelmholtzMachine
from wakesleep.recipe import Recipe
from wakesleep.training.checkpoints import Checkpointer, latest_checkpoint, load_checkpoint
from wakesleep.training.events import Observer
from wakesleep.training.folder import RunFolder
from wakesleep.training.loggers import MetricsLogger, SamplePictures, TensorBoardLogger
from wakesleep.training.session import FitResult, fit
from wakesleep.training.snapshot import Snapshot


@dataclass(frozen=True)
class Watch:
    """Who is told of a run's progress, and how often it leaves something on the disk."""

    observers: Sequence[Observer] = ()
    should_stop: Callable[[], bool] = lambda: False
    checkpoint_interval: float | int = 30.0
    pictures_every: int = 0


def start_run(
    path: Path, config: RunConfig, watch: Watch | None = None, *, overwrite: bool = False
) -> FitResult:
    """Train into a new folder."""
    folder = RunFolder(path)
    config = dataclasses.replace(config, data=config.data.resolved())
    data = config.data.load()
    model = initial_model(config, data)
    with folder.locked():
        if folder.config_path.exists():
            if not overwrite:
                raise UsageError(
                    f"{path} holds a run already: --resume {path} continues it, "
                    "--overwrite replaces it"
                )
            _clear(folder)
        folder.write_config(config)
        return _fit(folder, config, data, model, None, watch or Watch())


def resume_run(path: Path, watch: Watch | None = None, *, extend: int = 0) -> FitResult | None:
    """Go on with a run as if it had never stopped; None where it is finished already.

    `extend` adds a phase of that many epochs, like the last one, to the recipe.
    """
    folder = RunFolder(path)
    config = folder.config()
    with folder.locked():
        checkpoint = latest_checkpoint(folder)
        snapshot = load_checkpoint(checkpoint, config.recipe) if checkpoint else None
        if extend:
            config = dataclasses.replace(config, recipe=extended(config.recipe, extend))
            snapshot = dataclasses.replace(snapshot, finished=False) if snapshot else None
            folder.write_config(config)
        elif snapshot and snapshot.position.phase == len(config.recipe.expand()):
            return None
        data = config.data.load()
        model = initial_model(config, data)
        return _fit(folder, config, data, model, snapshot, watch or Watch())


def initial_model(config: RunConfig, data: Dataset) -> HelmholtzMachine:
    """The parameters a run starts from."""
    key = jax.random.fold_in(jax.random.key(config.seed), 2**31)
    model = build(config.model, data.features, key=key, init=config.recipe.init)
    if config.recipe.init == "paper":
        return model
    return model.with_visible_mean(jnp.asarray(data.train.smoothed_mean(), jnp.float32))


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
    watch: Watch,
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
