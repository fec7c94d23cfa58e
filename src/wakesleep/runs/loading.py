"""Reading a run folder: its model, its history, and its data if they are what they were."""

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wakesleep.data import DATASETS, Dataset
from wakesleep.errors import DataError, UsageError
from wakesleep.models import BitModel, HelmholtzMachine, LatentModel, TableModel
from wakesleep.runs.config import GIVEN, RunConfig
from wakesleep.runs.data_record import DataRecord, read_record, record_data
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.model_files import read_model
from wakesleep.runs.schema_json import read_schema
from wakesleep.schema import Schema

WAY_OUT = "--data FILE names the data it was trained on"


@dataclass(frozen=True, eq=False)
class Run:
    """A run folder. Model and data are read when they are first asked for.

    Attributes:
        folder: where its files are.
        config: what config.toml says, with the data's new place where one was given.
        given: the data set, where the caller has it.
        template: the structure of a model that was given as functions.
        reads_named_files: whether data files may be read that config.toml alone names.
    """

    folder: RunFolder
    config: RunConfig
    given: Dataset | None = None
    template: LatentModel | None = None
    reads_named_files: bool = True

    @property
    def path(self) -> Path:
        """The folder's path."""
        return self.folder.path

    @property
    def history(self) -> list[dict[str, Any]]:
        """The epochs so far, as metrics.jsonl has them."""
        return self.folder.records()

    @cached_property
    def model(self) -> LatentModel:
        """The parameters that did best on the validation set."""
        return read_model(self.folder.model_path, self.template)

    @property
    def machine(self) -> BitModel:
        """The model, for what a model of bits can do: score, sample, impute and embed."""
        if not isinstance(self.model, BitModel):
            raise UsageError(f"{self.path} holds a model given in Python, not a Helmholtz machine")
        return self.model

    @property
    def single_machine(self) -> HelmholtzMachine:
        """The model, for what only one Helmholtz machine can do."""
        if not isinstance(self.machine, HelmholtzMachine):
            raise UsageError(
                f"{self.path} holds a mixture, and this is for a single machine: give the run of "
                "one of its components"
            )
        return self.machine

    @cached_property
    def schema(self) -> Schema | None:
        """What the columns of the table are that it was trained on, if it was one."""
        return read_schema(self.folder.schema_path)

    @property
    def table_model(self) -> TableModel:
        """The model with its schema, for `ws.log_likelihood`, `ws.sample` and `ws.impute`."""
        if self.schema is None:
            raise UsageError(f"{self.path} was trained on bits, not on a table: use `model` itself")
        return TableModel(self.model, self.schema)

    @cached_property
    def data(self) -> Dataset:
        """The data set it was trained on; data that changed since then are refused."""
        data = self._load()
        if self.folder.data_path.exists():
            difference = read_record(self.folder.data_path).difference(record_data(data))
            if difference:
                raise DataError(f"the data of {self.path} changed: {difference}; {WAY_OUT}")
        return data

    @cached_property
    def about_data(self) -> DataRecord:
        """What the data were; a folder of the first release does not say it without them."""
        if self.folder.data_path.exists():
            return read_record(self.folder.data_path)
        return record_data(self.data)

    @property
    def has_data(self) -> bool:
        """Whether the data can be looked at, and may be."""
        source = self.config.data.source
        known = self.reads_named_files or source in DATASETS
        return self.given is not None or (known and _is_there(source))

    def check_data(self) -> None:
        """Refuse data that changed, where there are any to look at."""
        if self.has_data:
            _ = self.data

    def _load(self) -> Dataset:
        if self.given is not None:
            return self.given
        source = self.config.data.source
        if source == GIVEN:
            raise UsageError(
                f"the data of {self.path} were given in Python: pass them to ws.load_run again, "
                "or name their file with --data FILE"
            )
        if not (self.reads_named_files or source in DATASETS):
            raise UsageError(
                f"{self.path} did not keep all that this shows of its data, and a file that a run "
                f"folder names is not read unless you name it too: --data {source}"
            )
        try:
            return self.config.data.load(self.schema)
        except DataError as error:
            if source in DATASETS:
                raise
            raise DataError(
                f"the data of {self.path} cannot be read ({error}); {WAY_OUT}"
            ) from None


def load_run(
    path: str | Path,
    data: Dataset | str | Path | None = None,
    *,
    model: LatentModel | None = None,
    reads_named_files: bool = True,
) -> Run:
    """Open a run folder: `model`, `config`, `history`, `data` and `folder`.

    Args:
        path: the run folder.
        data: where the data are now, if not where they were: a file, or the data set itself.
            Files of other splits are looked for beside it.
        model: for a run of a model given as functions, the model, of which the trained
            parameters take the place of its own.
        reads_named_files: whether a data file may be read because config.toml names it. A
            stranger's folder can name any file of yours; `wakesleep report` says False.
    """
    folder = RunFolder(Path(path))
    config = folder.config()
    if isinstance(data, str | Path):
        config = dataclasses.replace(config, data=config.data.moved(data))
        data, reads_named_files = None, True
    return Run(folder, config, data, model, reads_named_files)


def _is_there(source: str) -> bool:
    if source in DATASETS:
        return DATASETS[source].present()
    return source != GIVEN and Path(source).exists()
