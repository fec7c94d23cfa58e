"""`wakesleep train`."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from wakesleep.cli import train_notes
from wakesleep.cli.cluster_options import ClusterOptions
from wakesleep.cli.name_value import name_and_value
from wakesleep.cli.process_options import ProcessOptions
from wakesleep.cli.run_options import INTERRUPTED
from wakesleep.cli.table_options import TableOptions
from wakesleep.data import DEFAULT_SPLIT
from wakesleep.errors import UsageError
from wakesleep.options import Minutes, Number, Seed, Whole
from wakesleep.recipe import Recipe
from wakesleep.recipe_files import load_recipe
from wakesleep.runs.config import DataConfig, RunConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from wakesleep.data import Dataset
    from wakesleep.processes.team import Team
    from wakesleep.runs.start import RunOptions


@dataclass
class Train:
    """Train a machine on a data set and keep everything in a run folder.

    Example: wakesleep train survey.csv --out runs/survey
    """

    data: tyro.conf.Positional[str] = "digits"
    """A data set's name (`wakesleep data` lists them), a file of 0 and 1 (.npy .npz .csv .tsv .amat
    .safetensors), or a table with a header (.csv .tsv .csv.gz .parquet .feather)."""
    valid: str | None = None
    """A file with the validation set; otherwise DATA is split."""
    test: str | None = None
    """A file with the test set; otherwise DATA is split."""
    split: tuple[float, float, float] = DEFAULT_SPLIT
    """Fractions of train, valid and test for a single file."""
    split_seed: Seed = 0
    """Decides which rows of a single file go where, and the rows of a generated set."""
    binarise: str | None = None
    """For grey values in .npy or .npz: dynamic, or the least value from 0 to 1 that becomes a 1."""
    model: str = "auto"
    """auto: chosen by the data, within --minutes. Or P/Q top-...-bottom in the paper's notation, as
    in "sbn/nade 10-200-200"; the options from --recipe to --patience are for such a model."""
    minutes: Minutes = None
    """With --model auto: the budget, 2 unless given; counted as arithmetic, not by a clock."""
    recipe: str = "default"
    """A named recipe (default, paper) or a TOML file of recipe fields."""
    epochs: int | None = None
    """Passes over the training set."""
    estimator: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="NAME|OPTION=VALUE")
    ] = ()
    """Another gradient estimator, as --estimator vimco, or an option of it, as
    --estimator.samples 5 or --estimator samples=5. May be given several times."""
    samples: int | None = None
    """K, latents drawn from q per example; short for --estimator.samples."""
    batch_size: int | None = None
    """Examples per step."""
    learning_rate: str | None = None
    """The learning rate; several, joined by commas, are all trained and the best is kept."""
    wake_q: bool | None = None
    """Update q in the wake phase (--wake-q False for classic wake-sleep)."""
    sleep_q: bool | None = None
    """Update q in the sleep phase."""
    patience: int | None = None
    """Stop after so many epochs without a better validation log-likelihood; 0 for never."""
    seed: Seed = 0
    """Of everything random in training; which rows go where is --split-seed's."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="RUN")] = None
    """The run folder; runs/DATA-MODEL-seedN unless given."""
    overwrite: bool = False
    """Replace a run that is in that folder."""
    resume: Annotated[Path | None, tyro.conf.arg(metavar="RUN")] = None
    """Go on with an interrupted run, as it was begun: what would train another is refused."""
    moved: Annotated[str | None, tyro.conf.arg(name="data", metavar="FILE")] = None
    """With --resume: where the run's data are now, if not where they were."""
    extend: Annotated[int, Whole()] = 0
    """With --resume: add so many epochs to a run."""
    checkpoint_every: Annotated[float, Number()] = 30.0
    """Seconds between checkpoints, at the end of an epoch."""
    pictures_every: Annotated[int, Whole()] = 0
    """Epochs between pictures of samples in RUN/samples; 0 for none."""
    diagnostics: bool = True
    """Do not keep what a report shows of the model at the end; the report makes it then."""
    quiet: bool = False
    """Say nothing but errors."""
    json: bool = False
    """Print a JSON object per epoch instead of progress."""
    table: TableOptions = field(default_factory=TableOptions)
    machines: ProcessOptions = field(default_factory=ProcessOptions)
    cluster: ClusterOptions = field(default_factory=ClusterOptions)

    def run(self) -> int:
        """Train, choose a learning rate, or resume."""
        for name, given in (("extend", self.extend), ("data", self.moved)):
            if given and not self.resume:
                raise UsageError(f"--{name} goes with --resume RUN")
        if self.resume:
            train_notes.refuse_changes(self)
        files = self.moved if self.resume else self._data()
        return self.machines.run(self._settings(), self._path(), self._lead, files)

    def _lead(self, team: "Team") -> int:
        from wakesleep.runs.interruption import stop_on_interrupt
        from wakesleep.runs.start import RunOptions
        from wakesleep.training.progress_bar import TrainingProgress

        path, door = self._path(), self._door(self._path())
        self.cluster.check_choice(door == self._choose_rate)
        lines = door != self._choose_model
        progress = TrainingProgress(quiet=self.quiet, as_json=self.json, epoch_lines=lines)
        train_notes.tell_what_is_not_written(quiet=self.quiet or self.json)
        with progress, stop_on_interrupt() as stop, self.cluster.used():
            every = (self.checkpoint_every, self.pictures_every, self.diagnostics)
            return door(path, RunOptions((progress,), stop, *every, self._show, team))

    def _settings(self) -> dict[str, str]:
        """What processes that train together must have been told alike."""
        if self.resume:
            return {"--resume": "yes", "--extend": str(self.extend)}
        names = ("model", "seed", "minutes", "learning_rate", "split", "split_seed", "binarise")
        words = {f"--{name.replace('_', '-')}": str(getattr(self, name)) for name in names}
        return {**words, "recipe": json.dumps(self._recipe().to_dict())}

    def _door(self, path: Path) -> "Callable[[Path, RunOptions], int]":
        """What is to be done: train a model, or choose a model or a learning rate."""
        from wakesleep.runs.automatic_choice import AutomaticChoice
        from wakesleep.runs.selection import ChoiceFolder

        if self.resume:
            if AutomaticChoice(path).unfinished():
                return self._choose_model
            return self._choose_rate if ChoiceFolder(path).unfinished() else self._train
        if self._automatic():
            return self._choose_model
        return self._choose_rate if len(self._rates()) > 1 else self._train

    def _automatic(self) -> bool:
        """Whether the model is chosen by the data; then there is nothing to say of its recipe."""
        if self.model.strip().lower() != "auto":
            if self.minutes is not None:
                raise UsageError("--minutes goes with --model auto: others have --epochs")
            return False
        recipe = "" if self.recipe == "default" else self.recipe
        names = ("epochs", "estimator", "samples", "batch_size", "learning_rate", "patience")
        values = {"recipe": recipe, **{name: getattr(self, name) for name in names}}
        values |= {"wake_q": self.wake_q, "sleep_q": self.sleep_q}
        given = [name for name, value in values.items() if value not in (None, "", ())]
        if given:
            raise UsageError(
                f"--{given[0].replace('_', '-')} goes with a --model of your own, as in --model "
                '"sbn/sbn 10-50-100": the automatic one has its own recipes'
            )
        return True

    def _choose_model(self, path: Path, options: "RunOptions") -> int:
        from wakesleep.data.held_out import held_out_note
        from wakesleep.runs.automatic_choice import AutomaticChoice
        from wakesleep.training.automatic import MINUTES

        choice = AutomaticChoice(path)
        if self.extend:
            raise UsageError(f"{path} is still choosing a model: resume it first")
        if not self.resume:
            minutes = MINUTES if self.minutes is None else self.minutes
            data = choice.prepare(self._config(options.team), minutes, overwrite=self.overwrite)
            options.on_data(data)
            if choice.config().data.held_out and not (self.quiet or self.json):
                print(held_out_note(data), file=sys.stderr)
        chosen = choice.run(options, self.moved)
        if chosen is None:
            return self._interrupted(path)
        record = {"run": str(path), "finished": True, "model": chosen.best.model}
        self._say_trained(record, path, chosen.valid_ll)
        return 0

    def _show(self, data: "Dataset") -> None:
        """What the columns of a table are taken for, before anything is learnt of them."""
        if data.table is None or self.quiet or self.json:
            return
        from wakesleep.cli.schema import show_schema

        show_schema(data.table.schema, stderr=True)
        for note in data.table.notes:
            print(note, file=sys.stderr)

    def _train(self, path: Path, options: "RunOptions") -> int:
        from wakesleep.runs.start import resume_run, start_run

        if self.resume:
            result = resume_run(path, options, extend=self.extend, data=self.moved)
        else:
            result = start_run(path, self._config(options.team), options, overwrite=self.overwrite)
        done = {"run": str(path), "finished": True}
        if result is None:
            self._say(done, f"{path} is finished: nothing to do")
        elif not result.snapshot.finished:
            return self._interrupted(path)
        else:
            self._say_trained(done, path, result.snapshot.best.valid_ll)
        return 0

    def _choose_rate(self, path: Path, options: "RunOptions") -> int:
        from wakesleep.runs.folder import RunFolder
        from wakesleep.runs.rate_choice import RateChoice

        choice = RateChoice(path)
        if self.extend:
            raise UsageError(f"{path} is still choosing a learning rate: resume it first")
        if not self.resume:
            rates, config = self._rates(), self._config(options.team)
            options.on_data(choice.prepare(config, rates, overwrite=self.overwrite))
        scores = choice.run(options, self.moved)
        if not scores:
            return self._interrupted(path)
        rate = RunFolder(path).config().recipe.learning_rate
        record = {"run": str(path), "finished": True, "learning_rate": rate, "valid_ll": scores}
        others = train_notes.score_words(scores)
        self._say(record, f"trained {path}, learning rate {rate:g} (validation LL {others})")
        return 0

    def _say_trained(self, record: dict[str, object], path: Path, valid_ll: float | None) -> None:
        """That it is done, how good it is, and how far that is from what is simpler."""
        score = "" if valid_ll is None else f", validation LL {valid_ll:.3f} nats"
        self._say({**record, "valid_ll": valid_ll}, f"trained {path}{score}")
        if valid_ll is not None and not (self.quiet or self.json):
            train_notes.tell_gains(path, valid_ll)

    def _interrupted(self, path: Path) -> int:
        """Say how to go on; the exit code of a command that was interrupted."""
        how = f"wakesleep train --resume {path}"
        self._say({"run": str(path), "resume": how}, f"stopped; go on with: {how}")
        return INTERRUPTED

    def _rates(self) -> tuple[float, ...]:
        try:
            return tuple(float(rate) for rate in (self.learning_rate or "").split(",") if rate)
        except ValueError:
            raise UsageError(
                f"--learning-rate {self.learning_rate} must be a number or several joined by commas"
            ) from None

    def _config(self, team: "Team") -> RunConfig:
        recipe = self.machines.cut(self._recipe(), team)
        return RunConfig(self._data(), self.model, self.seed, recipe)

    def _data(self) -> DataConfig:
        files = (self.data, self.valid, self.test)
        columns, table = self.table.choices()
        return DataConfig(
            *files, self.split, self.split_seed, self.binarise, columns or None, table or None
        )

    def _recipe(self) -> Recipe:
        given = {name: getattr(self, name) for name in ("epochs", "batch_size", "patience")}
        overrides = {name: value for name, value in given.items() if value is not None}
        if self._rates():
            overrides["learning_rate"] = self._rates()[0]
        if estimator := self._estimator():
            overrides["estimator"] = estimator
        return load_recipe(self.recipe).overridden(overrides)

    def _estimator(self) -> dict[str, Any]:
        """The estimator's options that were given, its name among them."""
        short = {"samples": self.samples, "wake_q": self.wake_q, "sleep_q": self.sleep_q}
        numbers = {k: float(v) if isinstance(v, bool) else v for k, v in short.items()}
        given = {name: value for name, value in numbers.items() if value is not None}
        words = (word if "=" in word else f"name={word}" for word in self.estimator)
        return given | dict(name_and_value(each, "estimator") for each in words)

    def _path(self) -> Path:
        given = self.resume or self.out
        return given or train_notes.default_folder(self.data, self.model, self.seed)

    def _say(self, record: dict[str, object], sentence: str) -> None:
        if self.json:
            print(json.dumps(record))
        elif not self.quiet:
            print(sentence, file=sys.stderr)
