"""The automatic default: which models are tried on a table, and how long each is trained.

A small rule of the rows, the columns and the minutes, and of nothing else: no clock is read, so
the same data, minutes and seed give the same model on every machine. docs/automatic.md explains it.
"""

import math
from dataclasses import dataclass

from wakesleep.data import ArrayRows, Dataset
from wakesleep.errors import UsageError
from wakesleep.recipe import Recipe
from wakesleep.training.arithmetic import COMPILATION, update_seconds, validation_seconds
from wakesleep.training.candidate import Candidate

AUTO = "auto"
"""What stands in place of an architecture where it is chosen by the data."""
MINUTES = 2.0
"""The budget unless given."""

BATCH = 100
MOST_UPDATES = 10_000
"""No candidate is trained for longer, whatever the budget."""
LEAST_EPOCHS = 5
PATIENCE = 500
"""Updates without a better validation log-likelihood after which training stops."""
LEAST_BETWEEN, MOST_BETWEEN = 25, 1000
"""Updates between two validations."""


def is_automatic(model: object) -> bool:
    """Whether a model is asked for by the word "auto"."""
    return isinstance(model, str) and model.strip().lower() == AUTO


@dataclass(frozen=True)
class _Idea:
    """What a candidate is before its updates are counted."""

    name: str
    model: str
    weight_decay: float


def automatic_candidates(data: Dataset, minutes: float | int = MINUTES) -> tuple[Candidate, ...]:
    """The models to choose from, each with its share of the budget.

    Args:
        data: with a validation set.
        minutes: of arithmetic, on two cores of the machine the rates were measured on.
    """
    if not 0 < minutes < math.inf:
        raise UsageError(f"minutes is {minutes}, but it must be a number above 0")
    if isinstance(data.train, ArrayRows):
        raise UsageError(
            f"the automatic model is for tables of bits, but data set '{data.name}' holds arrays: "
            "give a model"
        )
    # A candidate that could not be compiled within the budget is not tried; the first always is.
    affordable = max(1, int(60 * minutes / (2 * COMPILATION)))
    ideas = _ideas(len(data.train), data.features)[:affordable]
    seconds = 60 * minutes / len(ideas)
    return tuple(_candidate(idea, data, seconds) for idea in ideas)


def _ideas(rows: int, features: int) -> tuple[_Idea, ...]:
    decay = round(min(0.5, max(0.02, 60 / rows)), 3)
    wide = 200 if rows * features > 20_000 else 50
    latents = 50 if rows >= 1000 else 10
    return (
        _Idea("nade", f"nade(hidden={wide})", decay),
        _Idea("nade-decayed", f"nade(hidden={wide})", round(5 * decay, 3)),
        _Idea("nade-latents", f"nade/nade {latents}", decay),
    )


def _candidate(idea: _Idea, data: Dataset, seconds: float) -> Candidate:
    between = min(MOST_BETWEEN, max(LEAST_BETWEEN, len(data.valid) // 10))
    recipe = Recipe(
        epoch_updates=between,
        batch_size=BATCH,
        weight_decay=idea.weight_decay,
        patience=max(5, PATIENCE // between),
    )
    update = update_seconds(idea.model, data.features, recipe)
    validation = validation_seconds(idea.model, data.features, recipe, len(data.valid))
    epoch = recipe.epoch_updates * update + validation
    most = max(1, MOST_UPDATES // recipe.epoch_updates)
    epochs = int(min(most, max(LEAST_EPOCHS, (seconds - COMPILATION) / epoch)))
    return Candidate(idea.name, idea.model, recipe.overridden({"epochs": epochs}))
