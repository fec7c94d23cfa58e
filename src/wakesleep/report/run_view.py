"""What a page needs of a run, read from its folder alone."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from wakesleep.architecture import MIXTURE
from wakesleep.data import Dataset
from wakesleep.errors import DataError, UsageError
from wakesleep.estimators import estimator_table
from wakesleep.evaluation.result import LogLikelihood
from wakesleep.runs.config import RunConfig
from wakesleep.runs.data_record import DataRecord
from wakesleep.runs.diagnostics import Diagnostics, diagnostics_of
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.loading import Run, load_run
from wakesleep.runs.selection import ChoiceFolder

Evaluation = Mapping[str, Any]
Record = Mapping[str, Any]


TEXTS = {"data", "binarisation", "split", "method", "unit"}
"""What an evaluation says in words; all else is numbers."""


@dataclass(frozen=True, eq=False)
class RunView:
    """A run with at least one finished epoch.

    Attributes:
        run: the run itself.
        records: one per epoch, as metrics.jsonl has them.
        evaluation: what `wakesleep evaluate` measured, or None.
        examples: every example's numbers behind that evaluation, or None.
    """

    run: Run
    records: list[dict[str, Any]]
    evaluation: Evaluation | None
    examples: LogLikelihood | None

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.run.path.resolve().name

    @property
    def config(self) -> RunConfig:
        """What was trained."""
        return self.run.config

    @property
    def config_text(self) -> str:
        """The same, as it stands in the file."""
        return self.run.folder.config_path.read_text(encoding="utf-8")

    @property
    def data(self) -> DataRecord:
        """What the data were."""
        return self.run.about_data

    @cached_property
    def shown_as(self) -> Dataset:
        """How a row of the data is shown."""
        return self.data.without_rows()

    @cached_property
    def diagnostics(self) -> Diagnostics | None:
        """What can be shown of the model; None where it is no machine."""
        return diagnostics_of(self.run)

    @property
    def samples(self) -> int | None:
        """K of the last phase's training, where its estimator has one."""
        return getattr(self.config.recipe.expand()[-1].estimator, "samples", None)

    @property
    def last(self) -> Record:
        """The last epoch."""
        return self.records[-1]

    @property
    def seconds(self) -> float:
        """The time all epochs took."""
        return float(sum(record["seconds"] for record in self.records))

    @property
    def throughput(self) -> float:
        """The median epoch's examples per second: the first one also compiles."""
        return float(np.median([record["examples_per_second"] for record in self.records]))

    @property
    def best_valid_ll(self) -> float | None:
        """The best validation log-likelihood, of raw or averaged weights; a mixture's own."""
        if self.config.model.startswith(MIXTURE):
            # The records of one that was chosen are its best component's.
            chosen = ChoiceFolder(self.run.path).read_choice().get("valid_ll")
            if isinstance(chosen, int | float):
                return chosen
        scores = [record[n] for record in self.records for n in ("valid_ll", "valid_ll_average")]
        return max((score for score in scores if score is not None), default=None)

    def summary(self) -> list[tuple[str, str]]:
        """What was trained on what, for how long."""
        data, recipe = self.data, self.config.recipe.expand()[-1]
        sizes = " / ".join(f"{split.rows:,}" for split in data.splits.values())
        of = "arrays" if data.features is None else f"{data.features} bits"
        per_epoch = self.seconds / len(self.records)
        about = [
            ("Data", f"{data.name}: {sizes} rows (train / valid / test) of {of}"),
            ("Binarisation", data.binarisation),
            ("Architecture", self.config.model),
        ]
        if self.config.model.startswith(MIXTURE):
            # Its components were trained one by one, each by a recipe of its own.
            whole = ("Time", f"{duration(self.seconds)} of training, all components together")
            return [*about, ("Epochs", f"{self.last['epoch']} of all components"), whole]
        return [
            *about,
            ("Estimator", _options(estimator_table(recipe.estimator))),
            ("Optimiser", f"{recipe.optimiser}, batches of {recipe.batch_size}"),
            ("Seed", str(self.config.seed)),
            ("Epochs", str(self.last["epoch"])),
            ("Time", f"{duration(self.seconds)} of training, {per_epoch:.2g} s an epoch"),
            ("Throughput", f"{self.throughput:,.0f} examples per second (median of the epochs)"),
        ]


def view_run(path: str | Path, data: str | Path | None = None) -> RunView:
    """Read a run folder; one without a finished epoch is refused.

    `data` is where the data are, which are read, and refused if they changed, only if they are
    named here or are one of the known sets: a run folder may be a stranger's, and name any file.
    They are needed only where the folder lacks something that is made from them.
    """
    run = load_run(path, data, reads_named_files=False)
    records = run.history
    if not records:
        raise UsageError(f"{path} has no finished epoch to report yet")
    run.check_data()
    evaluation = _evaluation(run.folder)
    return RunView(run, records, evaluation, _examples(run.folder, evaluation))


def _options(table: dict[str, Any]) -> str:
    """A name and its options, as in "reweighted (samples = 5)"."""
    options = ", ".join(f"{name} = {value}" for name, value in table.items() if name != "name")
    return f"{table['name']} ({options})" if options else str(table["name"])


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def _evaluation(folder: RunFolder) -> Evaluation | None:
    if not folder.evaluation_path.exists():
        return None
    try:
        evaluation: Evaluation = json.loads(folder.evaluation_path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        evaluation = {}
    if not isinstance(evaluation, dict):
        evaluation = {}
    texts = {name for name, value in evaluation.items() if isinstance(value, str)}
    if {"mean", "examples", "split"} <= set(evaluation) and texts <= TEXTS:
        return evaluation
    raise DataError(f"{folder.evaluation_path} is no evaluation: evaluate the run again")


def _examples(folder: RunFolder, evaluation: Evaluation | None) -> LogLikelihood | None:
    """The examples' numbers; those of another evaluation than the summary's are not it."""
    path = folder.evaluation_path.with_suffix(".npz")
    if evaluation is None or not path.exists():
        return None
    examples = LogLikelihood.load(path)
    return examples if np.isclose(examples.mean, evaluation["mean"], rtol=1e-9) else None
