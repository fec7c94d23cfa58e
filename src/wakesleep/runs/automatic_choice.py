"""The automatic default in a folder: every candidate a run of its own, and then the best."""

import dataclasses
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wakesleep.data import Dataset
from wakesleep.data.held_out import hold_out
from wakesleep.errors import DataError
from wakesleep.runs.config import RunConfig
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.loading import load_run
from wakesleep.runs.model_files import read_model
from wakesleep.runs.selection import CandidateRun, ChoiceFolder, progress_at_end, train_candidate
from wakesleep.runs.start import RunOptions, write_end, write_start
from wakesleep.training.automatic import AUTO, automatic_candidates
from wakesleep.training.automatic_fit import Choice, Trained, choose
from wakesleep.training.candidate import Candidate
from wakesleep.training.events import Event


@dataclass(frozen=True)
class AutomaticChoice:
    """A folder of the candidates that `automatic_candidates` names, and then the best of them.

    Interrupted at any point it goes on to the same bits, which are those of `ws.fit(data)`.
    """

    path: Path

    @property
    def folder(self) -> ChoiceFolder:
        """Where the candidates are."""
        return ChoiceFolder(self.path)

    def unfinished(self) -> bool:
        """Whether the folder holds an automatic choice that was not made yet."""
        return self.folder.unfinished() and "minutes" in self.folder.read_choice()

    def prepare(
        self, config: RunConfig, minutes: float | int, *, overwrite: bool = False
    ) -> Dataset:
        """Lay out the first candidate, so that `run` can start or go on; gives the data.

        The model and the recipe of `config` are left to the rule. Without validation rows a part
        of the training rows is held out, and the candidates' configs say so.
        """
        RunFolder(self.path).check_usable()
        config = dataclasses.replace(config, data=config.data.resolved())
        data = config.data.load()
        if not len(data.valid):
            held_out = dataclasses.replace(config.data, held_out=True)
            config, data = dataclasses.replace(config, data=held_out), hold_out(data)
        first, *_ = automatic_candidates(data, minutes)
        self.folder.check_free(overwrite=overwrite)
        self.path.mkdir(parents=True, exist_ok=True)
        self.folder.write_choice({"model": AUTO, "minutes": minutes, "seed": config.seed})
        write_start(RunFolder(self.folder.candidates / first.name), _config(config, first), data)
        return data

    def run(self, options: RunOptions, data: str | Path | None = None) -> Choice | None:
        """Train whatever is not trained yet and keep the best; None when interrupted.

        `data` is where the data are now, if not where they were.
        """
        if data is not None:
            self.folder.move_data(data)
        before = self.folder.read_choice()
        minutes = float(before["minutes"])
        config, rows = self.config(), load_run(self._first().path).data

        def train(candidate: Candidate) -> Trained | None:
            folder = RunFolder(self.folder.candidates / candidate.name)
            own = _config(config, candidate)
            if not folder.config_path.exists():
                write_start(folder, own, rows)
            if not train_candidate(CandidateRun(folder, own, rows), options):
                return None
            progress = progress_at_end(folder)
            model = functools.partial(read_model, folder.model_path)
            if progress is None:
                return Trained(None, own.recipe.epochs, model)
            return Trained(progress.best.valid_ll, progress.position.epoch, model)

        def tell(event: Event) -> None:
            for observer in options.observers:
                observer(event)

        choice = choose(rows, minutes, config.seed, train, tell)
        if choice is not None:
            self.folder.write_choice({**before, **_record(choice)})
            self.folder.keep(choice.best.name, choice.mixture)
            if options.diagnostics:
                kept = load_run(self.path, rows)
                write_end(kept.folder, kept.machine, rows)
        return choice

    def config(self) -> RunConfig:
        """What all candidates share: the data and the seed."""
        seed = int(self.folder.read_choice()["seed"])
        return dataclasses.replace(self._first().config(), seed=seed)

    def _first(self) -> RunFolder:
        runs = list(self.folder.runs().values())
        if not runs:
            raise DataError(f"{self.path} has no candidates: remove it and train again")
        return runs[0]


def _config(base: RunConfig, candidate: Candidate) -> RunConfig:
    return dataclasses.replace(
        base,
        model=candidate.model,
        seed=base.seed + candidate.seed,
        recipe=dataclasses.replace(candidate.recipe, shares=base.recipe.shares),
    )


def _record(choice: Choice) -> dict[str, Any]:
    """What choice.json says."""
    return {
        "chosen": choice.best.name,
        "valid_ll": choice.valid_ll,
        "independent_columns": choice.independent,
        "components": choice.machines,
        "latent_classes": choice.classes,
        "candidates": {
            one.candidate.name: {
                "model": one.candidate.model,
                "weight_decay": one.candidate.recipe.weight_decay,
                "most_updates": one.candidate.updates,
                "valid_ll": one.valid_ll,
            }
            for one in choice.tried
        },
    }
