"""Running a row: train its candidates, keep the best on validation, evaluate that on the test."""

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from wakesleep import provenance
from wakesleep.inference.blocks import Progress
from wakesleep.recipe import Recipe
from wakesleep.reproduce.experiments import Row
from wakesleep.reproduce.store import Budget, ExperimentStore, OutOfTimeError
from wakesleep.runs.automatic_choice import AutomaticChoice
from wakesleep.runs.config import DataConfig, RunConfig
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.loading import load_run
from wakesleep.runs.mixed_runs import mix_runs
from wakesleep.runs.run_evaluation import RunEvaluation
from wakesleep.runs.selection import CandidateRun, progress_at_end, select
from wakesleep.runs.start import RunOptions
from wakesleep.training.events import Observer


@dataclass(frozen=True)
class Trained:
    """The candidate that did best on the validation set, and how every candidate did.

    `heats` has the validation scores of the short trainings by which it was chosen, if any.
    """

    folder: RunFolder
    valid_ll: dict[str, float | None]
    seconds: float
    heats: dict[str, float | None] = field(default_factory=dict)


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
    evaluation = RunEvaluation(
        row.samples, "test", row.tolerance, defensive=0, seed=row.seed + 1, rows=row.test_rows
    )
    _, score = evaluation.of(load_run(trained.folder.path), budget.watching(progress))
    config = trained.folder.config()
    result = {
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
        "epochs": trained.folder.records()[-1]["epoch"],
        "valid_ll": trained.valid_ll,
        **({"heats_valid_ll": trained.heats} if trained.heats else {}),
        **({} if row.automatic or row.mixed else {"curve": learning_curve(trained.folder)}),
        "training_seconds": trained.seconds,
        "evaluation_seconds": time.monotonic() - began,
        "recipe": config.recipe.to_dict(),
        "seed": row.seed,
        "command": f'wakesleep reproduce {row.experiment} --row "{row.name}"',
        "commit": provenance.commit(),
        "machine": provenance.machine(),
    }
    if row.automatic:
        result["automatic"] = AutomaticChoice(trained.folder.path).folder.read_choice()
    store.write_result(row, result)
    return result


def learning_curve(folder: RunFolder) -> dict[str, list[Any]]:
    """The validation log-likelihood against epochs, processor-seconds and samples scored so far.

    A sample is a state that p or q scores for a training example. Epochs without a validation
    score are left out.
    """
    run, records = load_run(folder.path), folder.records()
    depth = len(run.machine.latent_sizes)
    scored = [
        phase.estimator.scored(depth)
        * (phase.epoch_updates * phase.batch_size or len(run.data.train))
        for phase in run.config.recipe.expand()
    ]
    points = zip(
        (each["epoch"] for each in records),
        accumulate(each["processor_seconds"] for each in records),
        accumulate(scored[each["phase"] - 1] for each in records),
        (best_validation(each) for each in records),
        strict=True,
    )
    known = [point for point in points if point[3] is not None]
    names = ("epoch", "processor_seconds", "samples_scored", "valid_ll")
    return {name: [point[i] for point in known] for i, name in enumerate(names)}


def best_validation(record: Mapping[str, Any]) -> float | None:
    """The better of the raw and the averaged weights' scores after an epoch; None without any."""
    scores = (record["valid_ll"], record["valid_ll_average"])
    return max((score for score in scores if score is not None), default=None)


def train_row(
    store: ExperimentStore, row: Row, budget: Budget, observers: tuple[Observer, ...] = ()
) -> Trained:
    """Train whatever candidate is not trained yet, and choose."""
    if row.automatic:
        return _train_automatic(store, row, budget, observers)
    path, chosen = store.run_path(row), row.candidates()
    options = RunOptions(observers, budget.spent, diagnostics=False)
    heats: dict[str, RunFolder] = {}
    tried: dict[str, float | None] = {}
    if row.heat_seconds and len(chosen) > 1:
        short = {
            name: (model, dataclasses.replace(recipe, processor_seconds=row.heat_seconds))
            for name, (model, recipe) in chosen.items()
        }
        best, tried, heats = _select(path / "heats", row, short, options)
        chosen = {best: chosen[best]}
    best, valid_ll, folders = _select(path, row, chosen, options)
    trainings = (*heats.values(), *folders.values())
    seconds = sum(record["seconds"] for folder in trainings for record in folder.records())
    kept = _mixed(path, folders, row.seed) if row.mixed else folders[best]
    return Trained(kept, valid_ll, seconds, tried)


def _select(
    path: Path, row: Row, chosen: Mapping[str, tuple[str, Recipe]], options: RunOptions
) -> tuple[str, dict[str, float | None], dict[str, RunFolder]]:
    """The best of these candidates, how each did on the validation set, and where each is."""
    candidates = {
        name: CandidateRun(
            RunFolder(path if len(chosen) == 1 else path / name),
            RunConfig(DataConfig(row.data), model, row.seed, recipe),
        )
        for name, (model, recipe) in chosen.items()
    }
    selection = select(candidates, options)
    if selection is None:
        raise OutOfTimeError
    folders = {name: candidate.folder for name, candidate in candidates.items()}
    return selection.best, selection.valid_ll, folders


def _mixed(path: Path, folders: Mapping[str, RunFolder], seed: int) -> RunFolder:
    """The mixture of all candidates that did not diverge, in a run folder beside theirs."""
    mixture = RunFolder(path / "mixture")
    if not mixture.config_path.exists():
        finished = [each.path for each in folders.values() if progress_at_end(each)]
        mix_runs(finished, mixture.path, seed=seed)
    return mixture


def _train_automatic(
    store: ExperimentStore, row: Row, budget: Budget, observers: tuple[Observer, ...]
) -> Trained:
    """By the automatic default, as `wakesleep train` does without a model."""
    path = store.run_path(row)
    choice, options = AutomaticChoice(path), RunOptions(observers, budget.spent, diagnostics=False)
    folder = RunFolder(path)
    if not folder.config_path.exists():
        if not choice.unfinished():
            config = RunConfig(DataConfig(row.data), row.models[0], row.seed, row.recipe)
            choice.prepare(config, row.automatic_minutes)
        if choice.run(options) is None:
            raise OutOfTimeError
    runs = choice.folder.runs()
    record = choice.folder.read_choice()
    scores = {name: one["valid_ll"] for name, one in record["candidates"].items()}
    seconds = sum(r["seconds"] for run in runs.values() for r in run.records())
    return Trained(folder, scores, seconds)
