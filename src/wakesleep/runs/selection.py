"""Choosing the learning rate as the paper does: train with each, keep the best on validation."""

import dataclasses
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from wakesleep.atomic import write_atomically
from wakesleep.runs.config import RunConfig
from wakesleep.errors import UsageError
from wakesleep.runs.checkpoints import latest_checkpoint, read_progress
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.start import RunOptions, resume_run


@dataclass(frozen=True)
class Chosen:
    """The rate that did best on the validation set, and how every rate did."""

    learning_rate: float
    valid_ll: dict[float, float]


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

    def prepare(self, config: RunConfig, rates: tuple[float, ...]) -> None:
        """Lay out a candidate for every rate, so that `run` can start or go on with them."""
        if len(set(rates)) != len(rates):
            raise UsageError("the learning rates to choose from must differ")
        if RunFolder(self.path).config_path.exists() or self.candidates.exists():
            raise UsageError(f"{self.path} holds a run already: --resume {self.path} continues it")
        if not len(config.data.load().valid):
            raise UsageError("choosing a learning rate needs a validation set")
        config = dataclasses.replace(config, data=config.data.resolved())
        recipes = {rate: dataclasses.replace(config.recipe, learning_rate=rate) for rate in rates}
        for rate, recipe in recipes.items():
            folder = RunFolder(self.candidates / f"rate-{rate:g}")
            folder.write_config(dataclasses.replace(config, recipe=recipe))

    def run(self, watch: RunOptions) -> Chosen | None:
        """Train whatever is not trained yet and choose; None when interrupted."""
        folders = [RunFolder(path) for path in sorted(self.candidates.iterdir())]
        for folder in folders:
            result = resume_run(folder.path, watch)
            if result is not None and not result.snapshot.finished:
                return None
        scores = {folder: _best_valid_ll(folder) for folder in folders}
        best = max(folders, key=lambda folder: scores[folder])
        rates = {folder: folder.config().recipe.learning_rate for folder in folders}
        valid_ll = {rates[folder]: scores[folder] for folder in folders}
        write_atomically(self.path / "choice.json", json.dumps(valid_ll, indent=2).encode())
        self._keep(best)
        return Chosen(rates[best], valid_ll)

    def _keep(self, best: RunFolder) -> None:
        """Copy the best run up; its config comes last and says that the rest is there."""
        own = RunFolder(self.path)
        shutil.copytree(best.checkpoints, own.checkpoints, dirs_exist_ok=True)
        for source, target in (
            (best.metrics_path, own.metrics_path),
            (best.model_path, own.model_path),
            (best.config_path, own.config_path),
        ):
            write_atomically(target, source.read_bytes())


def _best_valid_ll(folder: RunFolder) -> float:
    path = latest_checkpoint(folder)
    if path is None:
        raise UsageError(f"{folder.path} has no checkpoint: it was not trained")
    best = read_progress(path).best.valid_ll
    # A candidate that never had a finite validation value loses to any other.
    return float("-inf") if best is None else best
