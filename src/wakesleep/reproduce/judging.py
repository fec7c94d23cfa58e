"""Choosing by validation rows: a row and its variants, each trained and judged there alone.

The test rows are for the one final number of a row; what was tried on the way is judged here, and
the numbers are kept beside the row's result.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from wakesleep import provenance
from wakesleep.inference.blocks import Progress
from wakesleep.reproduce.experiments import Row
from wakesleep.reproduce.running import train_row
from wakesleep.reproduce.store import Budget, ExperimentStore
from wakesleep.runs.loading import load_run
from wakesleep.runs.run_evaluation import RunEvaluation
from wakesleep.training.events import Observer

SAMPLES = 1_000
"""K of a validation number, where the row's own evaluation has more."""
SUFFIX = ".validation.json"


def judge_row(
    store: ExperimentStore,
    row: Row,
    budget: Budget,
    observers: tuple[Observer, ...] = (),
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """The validation log-likelihoods of a row and its variants, written down."""
    samples = min(row.samples, SAMPLES)
    scores = {}
    for one in (row, *row.variants):
        trained = train_row(store, one, budget, observers)
        evaluation = RunEvaluation(samples, "valid", defensive=0, seed=row.seed + 1)
        _, score = evaluation.of(load_run(trained.folder.path), budget.watching(progress))
        scores[one.name] = {"mean": score["mean"], "interval": score["confidence"]}
    result = {
        "experiment": row.experiment,
        "row": row.name,
        "samples": samples,
        "validation": scores,
        "seed": row.seed,
        "command": f'wakesleep reproduce {row.experiment} --row "{row.name}" --validation',
        "commit": provenance.commit(),
        "machine": provenance.machine(),
    }
    store.write_result(row, result, SUFFIX)
    return result


def remarks_on(store: ExperimentStore, rows: Iterable[Row]) -> list[str]:
    """A line for every row that was judged, for the page of results."""
    judged = [(row, store.beside(row, SUFFIX)) for row in rows]
    return [_remark(row, result) for row, result in judged if result]


def _remark(row: Row, result: Mapping[str, Any]) -> str:
    scores = result["validation"]
    said = ", ".join(f"{name} {score['mean']:.3f}" for name, score in scores.items())
    return (
        f"- {row.name}, log-likelihood of the validation set (K = {result['samples']:,}, "
        f"`--validation`, `{result['commit']}`): {said}."
    )
