"""`ws.fit`: a model of one's own, or the automatic one."""

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex, cast

import numpy as np

from wakesleep.data import Dataset, load_dataset
from wakesleep.errors import UsageError
from wakesleep.models import LatentModel
from wakesleep.recipe import Recipe
from wakesleep.schema import is_table_file
from wakesleep.training.automatic import AUTO, MINUTES, is_automatic
from wakesleep.training.automatic_fit import fit_automatic
from wakesleep.training.events import Observer
from wakesleep.training.session import FitResult, fit_model
from wakesleep.training.snapshot import Snapshot


def fit(
    model: LatentModel | str | Dataset | Any,
    data: Dataset | Any = None,
    recipe: Recipe | None = None,
    *,
    minutes: float | int | None = None,
    seed: SupportsIndex = 0,
    observers: Sequence[Observer] = (),
    resume: Snapshot | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    progress: bool | None = None,
) -> FitResult:
    """Train a model on a data set; `fit(data)` chooses the model by the data.

    Args:
        model: an architecture in the paper's notation, whose parameters then start as the
            recipe says; a model with parameters to start from (ignored when resuming); or "auto",
            which is also what is meant where only data are given: a few models are trained, and
            the best on the validation rows is kept (docs/automatic.md).
        data: with a training set. Without a validation set the last parameters are kept; the
            automatic choice holds a part of the training rows out. A frame or a file's path is
            taken as `load_dataset` takes it, with validation and test rows held out.
        recipe: how; None for the default. The automatic choice has recipes of its own.
        minutes: of the automatic choice: its budget, 2 unless given. It is counted as arithmetic,
            not by a clock.
        seed: of everything random. The same call gives the same bits.
        observers: functions told of every event (progress bars, loggers, checkpoints).
        resume: a snapshot to go on from.
        should_stop: asked after every compiled call; True interrupts.
        progress: show it (a bar on a terminal, lines elsewhere); None for on a terminal only.
    """
    model, data = _model_and_data(model, data)
    # NumPy's whole numbers are no int, and would not go into a run's files as one.
    whole = int(seed) if isinstance(seed, np.integer) else cast(int, seed)
    if is_automatic(model):
        if recipe is not None or resume is not None:
            given = "recipe" if recipe is not None else "snapshot to resume"
            raise UsageError(
                f"a {given} goes with a model of your own: the automatic one has its own recipes"
            )
        return fit_automatic(
            data,
            minutes=MINUTES if minutes is None else minutes,
            seed=whole,
            observers=observers,
            should_stop=should_stop,
            progress=progress,
        )
    if minutes is not None:
        raise UsageError('minutes goes with model="auto": a model of your own has a recipe')
    return fit_model(
        model,
        data,
        recipe,
        seed=whole,
        observers=observers,
        resume=resume,
        should_stop=should_stop,
        progress=progress,
    )


def _model_and_data(model: Any, data: Any) -> tuple[LatentModel | str, Dataset]:
    """What is to be trained on what: the automatic model where there are only data."""
    is_text = isinstance(model, str) and not is_table_file(model)
    if not (is_text or isinstance(model, LatentModel)):
        if data is not None:
            raise UsageError("the data set comes after the model: fit(model, data), or fit(data)")
        model, data = AUTO, model
    if data is None:
        raise UsageError("fit needs a data set: fit(model, data), or fit(data)")
    return model, data if isinstance(data, Dataset) else load_dataset(data)
