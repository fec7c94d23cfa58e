"""Rows of figures: something is measured of another experiment's trained model and written down."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax

from wakesleep import provenance
from wakesleep.data import Table
from wakesleep.errors import UsageError
from wakesleep.evaluation import bias_variance, log_likelihood
from wakesleep.evaluation.bootstrap import COUNTS
from wakesleep.inference.blocks import Progress
from wakesleep.models import sample_means
from wakesleep.pictures import save_grid
from wakesleep.reproduce.experiments import Row
from wakesleep.reproduce.running import train_row
from wakesleep.reproduce.store import Budget, ExperimentStore
from wakesleep.runs.loading import Run, load_run
from wakesleep.runs.run_evaluation import random_rows
from wakesleep.training.events import Observer

POINTS = 25
TEST_POINTS = 500
TEST_SAMPLES = (1, 2, 5, 10, 25, 100, 250, 1_000, 2_500, 10_000)
SHOWN = 100

Measurement = dict[str, Any]


@dataclass(frozen=True)
class Measured:
    """What a measurement looks at, and where it may put a picture."""

    run: Run
    quick: bool
    picture: Path
    progress: Progress


def run_figure_row(
    store: ExperimentStore,
    row: Row,
    budget: Budget,
    observers: tuple[Observer, ...] = (),
    progress: Progress = lambda done, total: None,
) -> Measurement:
    """Train the source row if it is not trained, measure, and write the result down."""
    trained = train_row(store, store.source_of(row), budget, observers)
    run = load_run(trained.folder.path)
    picture = store.result_path(row, ".png")
    measure = MEASUREMENTS[store.experiment(row.experiment).kind]
    result = {
        "experiment": row.experiment,
        "row": row.name,
        "source": list(row.source or ()),
        "model": run.config.model,
        "data": run.data.name,
        "binarisation": run.data.binarisation,
        "recipe": run.config.recipe.to_dict(),
        "seed": row.seed,
        "command": f'wakesleep reproduce {row.experiment} --row "{row.name}"',
        "commit": provenance.commit(),
        "machine": provenance.machine(),
        **measure(Measured(run, store.quick, picture, budget.watching(progress))),
    }
    store.write_result(row, result)
    return result


def _bias(measured: Measured) -> Measurement:
    """Figs. 1B and the supplement's log p: the bootstrap on one minibatch of test points."""
    primary = 100 if measured.quick else max(COUNTS)
    analysis = bias_variance(
        measured.run.machine,
        _test_points(measured, POINTS),
        key=jax.random.key(3),
        counts=[count for count in COUNTS if count <= primary],
        primary=primary,
        replicates=10 if measured.quick else 100,
        progress=measured.progress,
    )
    return analysis.to_dict()


def _test_samples(measured: Measured) -> Measurement:
    """Fig. 2A: the estimate by the number of test samples, on a fixed random part of the test."""
    rows = _test_points(measured, 50 if measured.quick else TEST_POINTS)
    counts = TEST_SAMPLES[:5] if measured.quick else TEST_SAMPLES
    scores = []
    for place, count in enumerate(counts):
        measured.progress(place, len(counts))
        machine, key = measured.run.machine, jax.random.key(4)
        scores.append(log_likelihood(machine, rows, count, key=key, defensive=0))
    return {
        "counts": list(counts),
        "log_likelihood": [score.mean for score in scores],
        "bound": [score.bound for score in scores],
        "points": len(rows),
    }


def _samples(measured: Measured) -> Measurement:
    """Figs. 2B, 2C and 3: the probabilities from which each pixel is sampled."""
    data = measured.run.data
    if not data.image_shape:
        raise UsageError(f"'{data.name}' has no images to show")
    means = sample_means(measured.run.machine, SHOWN, key=jax.random.key(5))
    save_grid(measured.picture, data.images(means), inverted=data.inverted)
    return {"picture": measured.picture.name, "shown": SHOWN}


def _learning_curves(measured: Measured) -> Measurement:
    """The validation log-likelihood after every epoch."""
    records = measured.run.history
    counts = [phase.validation_samples for phase in measured.run.config.recipe.expand()]
    return {
        "epoch": [record["epoch"] for record in records],
        "valid_ll": [round(record["valid_ll"], 3) for record in records],
        "validation_samples": [counts[record["phase"] - 1] for record in records],
    }


MEASUREMENTS: Mapping[str, Callable[[Measured], Measurement]] = MappingProxyType(
    {
        "bias": _bias,
        "test-samples": _test_samples,
        "samples": _samples,
        "learning-curves": _learning_curves,
    }
)


def _test_points(measured: Measured, count: int) -> Table:
    test = measured.run.data.test
    return test.take(random_rows(len(test), count))
