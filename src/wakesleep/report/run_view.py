"""What a page needs of a run, read from its folder alone."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wakesleep.data import Dataset
from wakesleep.errors import UsageError
from wakesleep.estimators import estimator_table
from wakesleep.evaluation.result import LogLikelihood
from wakesleep.models import HelmholtzMachine
from wakesleep.runs.config import RunConfig
from wakesleep.runs.folder import RunFolder
from wakesleep.storage import load_model

Evaluation = Mapping[str, Any]
Record = Mapping[str, Any]


@dataclass(frozen=True)
class RunView:
    """A run with at least one finished epoch.

    Attributes:
        name: the folder's own name.
        records: one per epoch, as metrics.jsonl has them.
        evaluation: what `wakesleep evaluate` found, or None.
        examples: every example's numbers behind that evaluation, or None.
    """

    name: str
    config: RunConfig
    config_text: str
    data: Dataset
    model: HelmholtzMachine
    records: list[dict[str, Any]]
    evaluation: Evaluation | None
    examples: LogLikelihood | None

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
        """The best validation log-likelihood, of raw or averaged weights."""
        found = [record[n] for record in self.records for n in ("valid_ll", "valid_ll_average")]
        return max((value for value in found if value is not None), default=None)

    def summary(self) -> list[tuple[str, str]]:
        """What was trained on what, for how long."""
        data, recipe = self.data, self.config.recipe.expand()[-1]
        sizes = " / ".join(f"{len(split):,}" for split in data.splits.values())
        per_epoch = self.seconds / len(self.records)
        return [
            ("Data", f"{data.name}: {sizes} rows (train / valid / test) of {data.features} bits"),
            ("Binarisation", data.binarisation),
            ("Architecture", self.config.model),
            ("Estimator", _options(estimator_table(recipe.estimator))),
            ("Optimiser", f"{recipe.optimiser}, batches of {recipe.batch_size}"),
            ("Seed", str(self.config.seed)),
            ("Epochs", str(self.last["epoch"])),
            ("Time", f"{duration(self.seconds)} of training, {per_epoch:.2g} s an epoch"),
            ("Throughput", f"{self.throughput:,.0f} examples per second (median of the epochs)"),
        ]


def view_run(run: str | Path) -> RunView:
    """Read a run folder; one without a finished epoch is refused."""
    folder = RunFolder(Path(run))
    config, records = folder.config(), folder.records()
    if not records:
        raise UsageError(f"{run} has no finished epoch to report yet")
    evaluation = _evaluation(folder)
    return RunView(
        name=folder.path.resolve().name,
        config=config,
        config_text=folder.config_path.read_text(encoding="utf-8"),
        data=config.data.load(),
        model=load_model(folder.model_path),
        records=records,
        evaluation=evaluation,
        examples=_examples(folder, evaluation),
    )


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
    found: Evaluation = json.loads(folder.evaluation_path.read_text(encoding="utf-8"))
    return found


def _examples(folder: RunFolder, evaluation: Evaluation | None) -> LogLikelihood | None:
    """The examples' numbers; those of another evaluation than the summary's are not it."""
    path = folder.evaluation_path.with_suffix(".npz")
    if evaluation is None or not path.exists():
        return None
    found = LogLikelihood.load(path)
    return found if np.isclose(found.mean, evaluation["mean"], rtol=1e-9) else None
