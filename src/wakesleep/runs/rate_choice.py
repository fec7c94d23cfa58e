"""Choosing a learning rate: a run for each, and the best of them."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from wakesleep.data import Dataset
from wakesleep.errors import UsageError
from wakesleep.runs.config import RunConfig
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.loading import load_run
from wakesleep.runs.selection import CandidateRun, ChoiceFolder, select
from wakesleep.runs.start import RunOptions, write_end, write_start


@dataclass(frozen=True)
class RateChoice:
    """A folder of runs that differ in their learning rate alone, and then the best of them."""

    path: Path

    @property
    def folder(self) -> ChoiceFolder:
        """Where the candidates are."""
        return ChoiceFolder(self.path)

    def prepare(
        self, config: RunConfig, rates: tuple[float, ...], *, overwrite: bool = False
    ) -> Dataset:
        """Lay out a candidate for every rate, so that `run` can start or go on; gives the data."""
        if len(set(rates)) != len(rates):
            raise UsageError("the learning rates to choose from must differ")
        RunFolder(self.path).check_usable()
        data = config.data.load()
        if not len(data.valid):
            raise UsageError("choosing a learning rate needs a validation set")
        self.folder.check_free(overwrite=overwrite)
        config = dataclasses.replace(config, data=config.data.resolved())
        recipes = {rate: dataclasses.replace(config.recipe, learning_rate=rate) for rate in rates}
        for rate, recipe in recipes.items():
            folder = RunFolder(self.folder.candidates / f"rate-{rate:g}")
            write_start(folder, dataclasses.replace(config, recipe=recipe), data)
        return data

    def run(self, options: RunOptions, data: str | Path | None = None) -> dict[float, float | None]:
        """Train whatever is not trained yet and keep the best; every rate's score.

        Empty when interrupted. `data` is where the data are now, if not where they were.
        """
        if data is not None:
            self.folder.move_data(data)
        runs = self.folder.runs()
        candidates = {name: CandidateRun(each, each.config()) for name, each in runs.items()}
        selection = select(candidates, options)
        if selection is None:
            return {}
        valid_ll = {
            each.config.recipe.learning_rate: selection.valid_ll[name]
            for name, each in candidates.items()
        }
        self.folder.write_choice(valid_ll)
        self.folder.keep(selection.best)
        if options.diagnostics:
            run = load_run(self.path)
            write_end(run.folder, run.machine, run.data)
        return valid_ll
