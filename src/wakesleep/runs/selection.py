"""Choosing among candidates by the validation log-likelihood, learning rates among them."""

import dataclasses
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import jax

from wakesleep.atomic import write_atomically
from wakesleep.data import Dataset
from wakesleep.errors import UsageError
from wakesleep.runs.checkpoints import RunProgress, latest_checkpoint, read_progress
from wakesleep.runs.config import RunConfig
from wakesleep.runs.diagnostics import diagnostics_of
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.loading import load_run
from wakesleep.runs.start import RunOptions, resume_run, start_run, write_start
from wakesleep.training.divergence import DivergenceError
from wakesleep.training.session import FitResult


@dataclass(frozen=True)
class Candidate:
    """A run that is, or will be, trained in a folder."""

    folder: RunFolder
    config: RunConfig


@dataclass(frozen=True)
class Selection:
    """The candidate that did best on the validation set, and how each did.

    Attributes:
        best: its name.
        valid_ll: by name; None for a candidate that diverged, or has no validation set.
    """

    best: str
    valid_ll: dict[str, float | None]


def select(candidates: Mapping[str, Candidate], options: RunOptions) -> Selection | None:
    """Train whatever is not trained yet and choose the best; None when interrupted.

    A candidate that diverges loses, and is not trained again: its folder says so. The candidates
    keep no diagnostics.
    """
    options = dataclasses.replace(options, diagnostics=False)
    for candidate in candidates.values():
        if options.should_stop() or not _train(candidate, options):
            return None
        # What was compiled keeps some 500 memory maps per candidate; Linux allows 65,530 in all.
        jax.clear_caches()
    progress = {name: _progress_at_end(each.folder) for name, each in candidates.items()}
    scores = {name: each.best.valid_ll if each else None for name, each in progress.items()}
    finished = [name for name, each in progress.items() if each]
    if not finished:
        names = ", ".join(candidates)
        raise DivergenceError(f"every candidate diverged ({names}): smaller rates may help")
    return Selection(max(finished, key=lambda name: _rank(scores[name])), scores)


def _progress_at_end(folder: RunFolder) -> RunProgress | None:
    """Of a run that came to its end; None of one that diverged before."""
    path = latest_checkpoint(folder)
    progress = None if path is None or folder.diverged_path.exists() else read_progress(path)
    return progress if progress and progress.finished else None


def _rank(valid_ll: float | None) -> float:
    """A run without a validation score comes after all that have one."""
    return float("-inf") if valid_ll is None else valid_ll


def _train(candidate: Candidate, options: RunOptions) -> bool:
    """Start a run or go on with it, to its end or until it diverges; False when interrupted."""
    folder, config = candidate.folder, candidate.config
    result: FitResult | None
    if folder.config_path.exists() and folder.config() != config:
        raise UsageError(f"{folder.path} holds a run of another recipe: move it away or remove it")
    if folder.diverged_path.exists():
        return True
    try:
        if folder.config_path.exists():
            result = resume_run(folder.path, options)
        else:
            result = start_run(folder.path, config, options)
    except DivergenceError as error:
        write_atomically(folder.diverged_path, json.dumps({"error": str(error)}).encode())
        return True
    return result is None or result.snapshot.finished


@dataclass(frozen=True)
class RateChoice:
    """A folder of runs that differ in their learning rate alone, and then the best of them.

    Every candidate is a run folder of its own under `candidates/`. When all are trained the
    best one's files are copied up, which makes the folder itself a run folder, and
    `choice.json` says how each did.
    """

    path: Path

    @property
    def candidates(self) -> Path:
        """The folder of run folders."""
        return self.path / "candidates"

    def unfinished(self) -> bool:
        """Whether the folder holds a choice that was not made yet; after that it is a run's."""
        return self.candidates.is_dir() and not RunFolder(self.path).config_path.exists()

    def prepare(self, config: RunConfig, rates: tuple[float, ...]) -> Dataset:
        """Lay out a candidate for every rate, so that `run` can start or go on; gives the data."""
        if len(set(rates)) != len(rates):
            raise UsageError("the learning rates to choose from must differ")
        if RunFolder(self.path).config_path.exists() or self.candidates.exists():
            raise UsageError(f"{self.path} holds a run already: --resume {self.path} continues it")
        data = config.data.load()
        if not len(data.valid):
            raise UsageError("choosing a learning rate needs a validation set")
        config = dataclasses.replace(config, data=config.data.resolved())
        recipes = {rate: dataclasses.replace(config.recipe, learning_rate=rate) for rate in rates}
        for rate, recipe in recipes.items():
            folder = RunFolder(self.candidates / f"rate-{rate:g}")
            write_start(folder, dataclasses.replace(config, recipe=recipe), data)
        return data

    def run(self, options: RunOptions, data: str | Path | None = None) -> dict[float, float | None]:
        """Train whatever is not trained yet and keep the best; every rate's score.

        Empty when interrupted. `data` is where the data are now, if not where they were.
        """
        folders = {path.name: RunFolder(path) for path in sorted(self.candidates.iterdir())}
        if data is not None:
            for run in [load_run(folder.path, data) for folder in folders.values()]:
                write_start(run.folder, run.config, run.data)
        candidates = {name: Candidate(each, each.config()) for name, each in folders.items()}
        selection = select(candidates, options)
        if selection is None:
            return {}
        valid_ll = {
            each.config.recipe.learning_rate: selection.valid_ll[name]
            for name, each in candidates.items()
        }
        write_atomically(self.path / "choice.json", json.dumps(valid_ll, indent=2).encode())
        self._keep(folders[selection.best])
        if options.diagnostics:
            diagnostics_of(load_run(self.path))
        return valid_ll

    def _keep(self, best: RunFolder) -> None:
        """Copy the best run up; its config comes last and says that the rest is there."""
        own = RunFolder(self.path)
        shutil.copytree(best.checkpoints, own.checkpoints, dirs_exist_ok=True)
        for source, target in (
            (best.metrics_path, own.metrics_path),
            (best.model_path, own.model_path),
            (best.data_path, own.data_path),
            (best.schema_path, own.schema_path),
            (best.config_path, own.config_path),
        ):
            if source.exists():
                write_atomically(target, source.read_bytes())
