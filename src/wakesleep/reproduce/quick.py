"""A small version of every experiment, on the embedded digits: for a first look and for tests."""

import dataclasses
import re

from wakesleep.recipe import Recipe
from wakesleep.reproduce.experiments import FIGURES, Experiment, Row

MOST_ROWS = 4
MOST_SOURCES = 2
"""The same for figures, each of whose rows trains a model of another experiment."""
SHRINK = 10
AUTOMATIC_MINUTES = 0.02


def quick(experiment: Experiment) -> Experiment:
    """The same experiment, its rows shrunk, and at most a few of them: each kind of layer once."""
    rows = {_family(row): shrunk(row) for row in reversed(experiment.rows)}
    most = MOST_SOURCES if experiment.kind in FIGURES else MOST_ROWS
    few = list(reversed(rows.values()))[:most]
    title = f"{experiment.title} (in small, on digits)"
    return dataclasses.replace(experiment, title=title, rows=tuple(few))


def _family(row: Row) -> object:
    if row.source:
        return row.source
    kinds = re.sub(r"\(.*?\)|[\d\s-]+$", "", row.models[0])
    return kinds, row.x, row.recipe.rate_q, row.recipe.estimator


def shrunk(row: Row) -> Row:
    """The row in small: digits, narrow layers, two epochs."""
    if row.source:
        return row
    first = row.recipe.expand()[0]
    samples = min(first.estimator.samples, 5)
    small = {"epochs": 2, "batch_size": 50, "estimator": {"samples": samples}}
    recipe = first.overridden(small)
    return dataclasses.replace(
        row,
        data="digits",
        models=tuple(_narrow(model) for model in row.models[: 1 + row.mixed]),
        automatic_minutes=AUTOMATIC_MINUTES,
        learning_rates=row.learning_rates[-1:],
        recipe=_without_patience(recipe),
        samples=50,
        tolerance=None,
        paper_nll=None,
    )


def _narrow(model: str) -> str:
    """Every width a tenth, at least 2; options such as nade's hidden width too, but no order."""

    def narrow(width: re.Match[str]) -> str:
        return str(max(2, int(width[0]) // SHRINK))

    return re.sub(r"(?<!\d)(?<!order=)(?<!order=-)\d+", narrow, model)


def _without_patience(recipe: Recipe) -> Recipe:
    return dataclasses.replace(recipe, patience=0, validation_samples=5)
