"""Choosing among runs by the validation log-likelihood."""

import dataclasses
import json
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from wakesleep import pools
from wakesleep.architecture import describe
from wakesleep.atomic import write_atomically
from wakesleep.data import Dataset
from wakesleep.errors import DataError, UsageError
from wakesleep.models import Mixture
from wakesleep.runs.checkpoints import RunProgress, latest_checkpoint, read_progress
from wakesleep.runs.config import RunConfig
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.loading import load_run
from wakesleep.runs.start import RunOptions, clear, resume_run, start_run, write_start
from wakesleep.storage import read_header, save_model
from wakesleep.training.divergence import DivergenceError
from wakesleep.training.session import FitResult


@dataclass(frozen=True)
class CandidateRun:
    """A run that is, or will be, trained in a folder; with its data, where they are at hand."""

    folder: RunFolder
    config: RunConfig
    data: Dataset | None = None


@dataclass(frozen=True)
class Selection:
    """The candidate that did best on the validation set, and how each did.

    Attributes:
        best: its name.
        valid_ll: by name; None for a candidate that diverged, or has no validation set.
    """

    best: str
    valid_ll: dict[str, float | None]


def select(candidates: Mapping[str, CandidateRun], options: RunOptions) -> Selection | None:
    """Train whatever is not trained yet and choose the best; None when interrupted.

    A candidate that diverges loses, and is not trained again: its folder says so. The candidates
    keep no diagnostics.
    """
    if not _train_all(list(candidates.values()), options):
        return None
    progress = {name: progress_at_end(each.folder) for name, each in candidates.items()}
    scores = {name: each.best.valid_ll if each else None for name, each in progress.items()}
    finished = [name for name, each in progress.items() if each]
    if not finished:
        names = ", ".join(candidates)
        raise DivergenceError(f"every candidate diverged ({names}): smaller rates may help")
    return Selection(max(finished, key=lambda name: _rank(scores[name])), scores)


def _train_all(candidates: list[CandidateRun], options: RunOptions) -> bool:
    """Train one after another, or as tasks of a cluster; False when interrupted."""
    pool = pools.current()
    if pool is None or options.team.count > 1:
        return all(train_candidate(candidate, options) for candidate in candidates)
    every = RunOptions(
        checkpoint_interval=options.checkpoint_interval, pictures_every=options.pictures_every
    )
    parts = [(n, (each.folder.path.resolve(), each.config)) for n, each in enumerate(candidates)]
    marker = _mark(candidates[0].folder.path.parent)
    done = pool.each(_train_elsewhere, (every, marker), parts, options.should_stop)
    return sum(1 for _ in done) == len(candidates)


def _mark(folder: Path) -> Path:
    """A file by which a worker knows that it sees the same folders as we do."""
    marker = folder.resolve() / ".shared"
    write_atomically(marker, b"")
    return marker


def _train_elsewhere(common: tuple[RunOptions, Path], part: tuple[Path, RunConfig]) -> bool:
    """A candidate as a worker's task; a part that was begun goes on from its checkpoint."""
    options, marker = common
    path, config = part
    if not marker.exists():
        raise UsageError(
            f"the Dask worker on {platform.node()} does not see {path.parent}: choices need a "
            "folder that all machines share"
        )
    return train_candidate(CandidateRun(RunFolder(path), config), options)


def progress_at_end(folder: RunFolder) -> RunProgress | None:
    """Of a run that came to its end; None of one that diverged before."""
    path = latest_checkpoint(folder)
    progress = None if path is None or folder.diverged_path.exists() else read_progress(path)
    return progress if progress and progress.finished else None


def _rank(valid_ll: float | None) -> float:
    """A run without a validation score comes after all that have one."""
    return float("-inf") if valid_ll is None else valid_ll


def train_candidate(candidate: CandidateRun, options: RunOptions) -> bool:
    """Start a run or go on with it, to its end or until it diverges; False when interrupted."""
    options = dataclasses.replace(options, diagnostics=False)
    finished = not options.should_stop() and _train(candidate, options)
    # What was compiled keeps some 500 memory maps per candidate; Linux allows 65,530 in all.
    jax.clear_caches()
    return finished


def _train(candidate: CandidateRun, options: RunOptions) -> bool:
    folder, config = candidate.folder, candidate.config
    result: FitResult | None
    if folder.config_path.exists() and folder.config() != config:
        raise UsageError(f"{folder.path} holds a run of another recipe: move it away or remove it")
    if folder.diverged_path.exists():
        return True
    try:
        if folder.config_path.exists():
            result = resume_run(folder.path, options, data=candidate.data)
        else:
            result = start_run(folder.path, config, options)
    except DivergenceError as error:
        write_atomically(folder.diverged_path, json.dumps({"error": str(error)}).encode())
        return True
    return result is None or result.snapshot.finished


@dataclass(frozen=True)
class ChoiceFolder:
    """A folder of runs of which the best is kept, whatever they differ in.

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

    def check_free(self, *, overwrite: bool = False) -> None:
        """Refuse a folder that holds something already, or remove it."""
        taken = RunFolder(self.path).config_path.exists() or self.candidates.exists()
        if taken and not overwrite:
            raise UsageError(
                f"{self.path} holds a run already: --resume {self.path} continues it, "
                "--overwrite replaces it"
            )
        if taken:
            clear(RunFolder(self.path))
            shutil.rmtree(self.candidates, ignore_errors=True)

    def runs(self) -> dict[str, RunFolder]:
        """The candidates that are there, by name."""
        return {path.name: RunFolder(path) for path in sorted(self.candidates.iterdir())}

    def move_data(self, data: str | Path) -> None:
        """Note in every candidate that the data are at another place now."""
        for run in [load_run(folder.path, data) for folder in self.runs().values()]:
            write_start(run.folder, run.config, run.data)

    def read_choice(self) -> dict[str, Any]:
        """What `write_choice` wrote; nothing where there is none yet."""
        path = self.path / "choice.json"
        try:
            values = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        except (OSError, ValueError) as error:
            raise DataError(f"{path} cannot be read ({error})") from None
        return values if isinstance(values, dict) else {}

    def write_choice(self, values: Mapping[Any, Any]) -> None:
        """How each candidate did."""
        write_atomically(self.path / "choice.json", json.dumps(values, indent=2).encode())

    def keep(self, name: str, mixture: Mixture | None = None) -> None:
        """Copy the best run up; its config comes last and says that the rest is there.

        A mixture of it and of others takes the place of its model.
        """
        best, own = RunFolder(self.candidates / name), RunFolder(self.path)
        shutil.copytree(best.checkpoints, own.checkpoints, dirs_exist_ok=True)
        for source, target in (
            (best.metrics_path, own.metrics_path),
            (best.model_path, own.model_path),
            (best.data_path, own.data_path),
            (best.schema_path, own.schema_path),
        ):
            if source.exists():
                write_atomically(target, source.read_bytes())
        config = best.config()
        if mixture is not None:
            save_model(mixture, own.model_path, **read_header(best.model_path).get("notes", {}))
            config = dataclasses.replace(config, model=describe(mixture))
        own.write_config(config)
