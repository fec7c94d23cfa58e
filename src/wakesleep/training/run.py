"""Runs: training that lives in a folder, is checkpointed there and goes on after anything."""

import dataclasses
import shutil
from collections.abc import Callable, Sequence
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
from wakesleep.training.loggers import MetricsLogger
from wakesleep.training.session import FitResult, fit


def start_run(
    path: Path,
    config: RunConfig,
    *,
    observers: Sequence[Observer] = (),
    should_stop: Callable[[], bool] = lambda: False,
    overwrite: bool = False,
    checkpoint_interval: float | int = 30.0,
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
        watching = _standard_observers(folder, checkpoint_interval)
        return fit(
            model,
            data,
            config.recipe,
            seed=config.seed,
            observers=(*watching, *observers),
            should_stop=should_stop,
        )


def resume_run(
    path: Path,
    *,
    extend: int = 0,
    observers: Sequence[Observer] = (),
    should_stop: Callable[[], bool] = lambda: False,
    checkpoint_interval: float | int = 30.0,
) -> FitResult | None:
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
        elif snapshot and snapshot.finished:
            return None
        data = config.data.load()
        watching = _standard_observers(folder, checkpoint_interval)
        return fit(
            initial_model(config, data),
            data,
            config.recipe,
            seed=config.seed,
            observers=(*watching, *observers),
            resume=snapshot,
            should_stop=should_stop,
        )


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


def _standard_observers(folder: RunFolder, interval: float | int) -> tuple[Observer, ...]:
    return (MetricsLogger(folder), Checkpointer(folder, interval))


def _clear(folder: RunFolder) -> None:
    """Remove what a run wrote and nothing else that may be in the folder."""
    shutil.rmtree(folder.checkpoints, ignore_errors=True)
    for path in (folder.metrics_path, folder.model_path, folder.evaluation_path):
        path.unlink(missing_ok=True)
