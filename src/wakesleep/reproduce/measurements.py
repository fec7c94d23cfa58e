"""Rows of figures: something is measured of another experiment's trained model and written down."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from wakesleep import provenance
from wakesleep.data import Dataset
from wakesleep.errors import UsageError
from wakesleep.evaluation import bias_variance, log_likelihood
from wakesleep.evaluation.bootstrap import COUNTS
from wakesleep.inference.blocks import Progress
from wakesleep.models import HelmholtzMachine, sample_means
from wakesleep.report.pictures import save_grid
from wakesleep.reproduce.experiments import Experiment, Row
from wakesleep.reproduce.rows import train_row
from wakesleep.reproduce.store import Budget, ExperimentStore
from wakesleep.runs.folder import RunFolder
from wakesleep.storage import load_model
from wakesleep.training.events import Observer

POINTS = 25
TEST_POINTS = 500
TEST_SAMPLES = (1, 2, 5, 10, 25, 100, 250, 1_000, 2_500, 10_000)
SHOWN = 100

Measurement = dict[str, Any]


def run_figure_row(
    store: ExperimentStore,
    experiment: Experiment,
    row: Row,
    budget: Budget,
    observers: tuple[Observer, ...] = (),
    progress: Progress = lambda done, total: None,
) -> Measurement:
    """Train the source row if it is not trained, measure, and write the result down."""
    source = store.source_of(row)
    trained = train_row(store, source, budget, observers)
    data = trained.folder.config().data.load()
    measure = MEASUREMENTS[experiment.kind]
    picture = store.result_path(row, ".png")
    found = {
        "experiment": row.experiment,
        "row": row.name,
        "source": list(row.source or ()),
        "model": trained.folder.config().model,
        "data": data.name,
        "binarisation": data.binarisation,
        "recipe": trained.folder.config().recipe.to_dict(),
        "seed": row.seed,
        "command": f'wakesleep reproduce {row.experiment} --row "{row.name}"',
        "commit": provenance.commit(),
        "machine": provenance.machine(),
        **measure(trained.folder, data, store.quick, picture, budget.watching(progress)),
    }
    store.write_result(row, found)
    return found


def _bias(
    folder: RunFolder, data: Dataset, quick: bool, picture: Path, progress: Progress
) -> Measurement:
    """Figs. 1B and the supplement's log p: the bootstrap on one minibatch of test points."""
    primary = 100 if quick else max(COUNTS)
    analysis = bias_variance(
        load_model(folder.model_path),
        _test_points(data, POINTS),
        key=jax.random.key(3),
        counts=[count for count in COUNTS if count <= primary],
        primary=primary,
        replicates=10 if quick else 100,
        progress=progress,
    )
    return analysis.to_dict()


def _test_samples(
    folder: RunFolder, data: Dataset, quick: bool, picture: Path, progress: Progress
) -> Measurement:
    """Fig. 2A: the estimate by the number of test samples, on a fixed random part of the test."""
    model: HelmholtzMachine = load_model(folder.model_path)
    rows = _test_points(data, 50 if quick else TEST_POINTS)
    counts = TEST_SAMPLES[:5] if quick else TEST_SAMPLES
    scores = []
    for place, count in enumerate(counts):
        progress(place, len(counts))
        scores.append(log_likelihood(model, rows, count, key=jax.random.key(4)))
    return {
        "counts": list(counts),
        "log_likelihood": [score.mean for score in scores],
        "bound": [score.bound for score in scores],
        "points": len(rows),
    }


def _samples(
    folder: RunFolder, data: Dataset, quick: bool, picture: Path, progress: Progress
) -> Measurement:
    """Figs. 2B, 2C and 3: the probabilities from which each pixel is sampled."""
    if not data.image_shape:
        raise UsageError(f"'{data.name}' has no images to show")
    means = sample_means(load_model(folder.model_path), SHOWN, key=jax.random.key(5))
    save_grid(picture, data.images(means), inverted=data.inverted)
    return {"picture": picture.name, "shown": SHOWN}


def _learning_curves(
    folder: RunFolder, data: Dataset, quick: bool, picture: Path, progress: Progress
) -> Measurement:
    """The validation log-likelihood after every epoch."""
    records = folder.records()
    counts = [phase.validation_samples for phase in folder.config().recipe.expand()]
    return {
        "epoch": [record["epoch"] for record in records],
        "valid_ll": [round(record["valid_ll"], 3) for record in records],
        "validation_samples": [counts[record["phase"] - 1] for record in records],
    }


MEASUREMENTS: Mapping[str, Callable[..., Measurement]] = MappingProxyType(
    {
        "bias": _bias,
        "test-samples": _test_samples,
        "samples": _samples,
        "learning-curves": _learning_curves,
    }
)


def _test_points(data: Dataset, count: int) -> npt.NDArray[np.uint8]:
    """Drawn at random: MNIST's test rows are grouped by digit."""
    count = min(count, len(data.test))
    chosen = np.random.default_rng(3).choice(len(data.test), count, replace=False)
    return data.test[np.sort(chosen)]
