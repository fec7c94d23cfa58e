"""Running a row: train its candidates, keep the best on validation, judge that one on the test."""

import time
from dataclasses import dataclass
from typing import Any

import jax

from wakesleep import provenance
from wakesleep.errors import UsageError
from wakesleep.inference.blocks import Progress
from wakesleep.reproduce.experiments import Row
from wakesleep.reproduce.store import Budget, ExperimentStore, OutOfTimeError
from wakesleep.runs.checkpoints import latest_checkpoint, read_progress
from wakesleep.runs.config import DataConfig, RunConfig
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.run_evaluation import RunEvaluation
from wakesleep.runs.start import RunOptions, resume_run, start_run
from wakesleep.training.divergence import DivergenceError
from wakesleep.training.events import Observer
from wakesleep.training.session import FitResult


@dataclass(frozen=True)
class Trained:
    """The candidate that did best on the validation set, and how every candidate did."""

    folder: RunFolder
    valid_ll: dict[str, float]
    seconds: float


def run_row(
    store: ExperimentStore,
    row: Row,
    budget: Budget,
    observers: tuple[Observer, ...] = (),
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """The result of a row, written down; `OutOfTimeError` when the budget ends before it."""
    trained = train_row(store, row, budget, observers)
    began = time.monotonic()
    judgement = RunEvaluation(row.samples, "test", row.tolerance, seed=row.seed + 1)
    _, score = judgement.of(trained.folder, budget.watching(progress))
    config = trained.folder.config()
    found = {
        "experiment": row.experiment,
        "row": row.name,
        "nll": -score["mean"],
        "interval": score["confidence"],
        "paper_nll": row.paper_nll,
        "nll_bound": -score["bound"],
        "samples": row.samples,
        "tolerance": row.tolerance,
        "evaluation": score,
        "data": score["data"],
        "binarisation": score["binarisation"],
        "model": config.model,
        "epochs": len(trained.folder.records()),
        "valid_ll": trained.valid_ll,
        "training_seconds": trained.seconds,
        "evaluation_seconds": time.monotonic() - began,
        "recipe": config.recipe.to_dict(),
        "seed": row.seed,
        "command": f'wakesleep reproduce {row.experiment} --row "{row.name}"',
        "commit": provenance.commit(),
        "machine": provenance.machine(),
    }
    store.write_result(row, found)
    return found


def train_row(
    store: ExperimentStore, row: Row, budget: Budget, observers: tuple[Observer, ...] = ()
) -> Trained:
    """Train whatever candidate is not trained yet, and choose."""
    candidates = row.candidates()
    path = store.run_path(row)
    folders = {
        name: RunFolder(path if len(candidates) == 1 else path / name) for name in candidates
    }
    watch = RunOptions(observers, budget.spent)
    for name, (model, recipe) in candidates.items():
        budget.check()
        config = RunConfig(DataConfig(row.data), model, row.seed, recipe)
        _train(folders[name], config, watch)
        # What was compiled keeps some 500 memory maps per candidate; Linux allows 65,530 in all.
        jax.clear_caches()
    scores = {name: _best_valid_ll(folder) for name, folder in folders.items()}
    best = max(scores, key=lambda name: scores[name])
    if scores[best] == float("-inf"):
        raise UsageError(f"every candidate of {row.experiment}, row '{row.name}', diverged")
    seconds = sum(r["seconds"] for folder in folders.values() for r in folder.records())
    return Trained(folders[best], scores, seconds)


def _train(folder: RunFolder, config: RunConfig, watch: RunOptions) -> None:
    """Start a run or go on with it; a candidate that diverges is out, the others go on."""
    result: FitResult | None
    try:
        if not folder.config_path.exists():
            result = start_run(folder.path, config, watch)
        elif folder.config() == config:
            result = resume_run(folder.path, watch)
        else:
            raise UsageError(
                f"{folder.path} holds a run of another recipe: move it away or remove it"
            )
    except DivergenceError:
        return
    if result is not None and not result.snapshot.finished:
        raise OutOfTimeError


def _best_valid_ll(folder: RunFolder) -> float:
    """That of the kept parameters; minus infinity for a run that broke before its end."""
    path = latest_checkpoint(folder)
    if path is None:
        return float("-inf")
    progress = read_progress(path)
    best = progress.best.valid_ll
    return best if progress.finished and best is not None else float("-inf")
