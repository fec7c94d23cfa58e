"""What a run folder's config.toml says: all that is needed to run it again. No JAX here."""

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tomli_w

from wakesleep.data import DATASETS, DEFAULT_SPLIT, Dataset, load_dataset
from wakesleep.data.held_out import hold_out
from wakesleep.errors import UsageError
from wakesleep.options import Number, Seed, Text, check_declared
from wakesleep.recipe import Recipe
from wakesleep.recipe_files import recipe_from_record

if TYPE_CHECKING:
    # Loaded by those who have tables: `--help` does not wait for it.
    from wakesleep.schema import Schema

GIVEN = "given by the caller"
"""The data source of a run that was started in Python with a data set in memory."""

FUNCTION = "function"
"""What config.toml says in place of an architecture where the model is code of the caller's."""


@dataclass(frozen=True)
class DataConfig:
    """A data set by name, or files of one's own.

    `valid` and `test` are further files; without them a single table is split by the
    fractions `split` with seed `split_seed`. `binarise` is for files of grey values: "dynamic",
    or a threshold from 0 to 1. `columns` and `table` are for tables with a schema: what columns
    are, and the options of the schema and of reading. With `held_out`, validation rows are taken
    from the training rows.
    """

    source: Annotated[str, Text()] = "digits"
    valid: Annotated[str | None, Text()] = None
    test: Annotated[str | None, Text()] = None
    split: tuple[float, float, float] = DEFAULT_SPLIT
    split_seed: Seed = 0
    binarise: Annotated[str | None, Text()] = None
    columns: Mapping[str, Any] | None = None
    table: Mapping[str, Any] | None = None
    held_out: bool | None = None

    def __post_init__(self) -> None:
        check_declared(self)
        given = self.split if isinstance(self.split, tuple) else ()
        if len(given) != 3 or any(Number().problem(share) for share in given):
            raise UsageError(f"split must be three numbers of 0 or more, not {self.split!r}")
        for name in ("columns", "table"):
            if not isinstance(getattr(self, name), Mapping | None):
                raise UsageError(f"{name} must be a table, not {getattr(self, name)!r}")

    def load(self, schema: "Schema | None" = None) -> Dataset:
        """The data set; a table's rows by this schema, if it has one already."""
        if self.source == GIVEN:
            raise UsageError("the run was trained on a data set in memory, which is not in a file")
        names = ("valid", "test", "binarise", "columns", "table")
        more: dict[str, Any] = {name: getattr(self, name) for name in names} | {"schema": schema}
        options = {name: value for name, value in more.items() if value is not None}
        data = load_dataset(self.source, split=self.split, seed=self.split_seed, **options)
        return hold_out(data) if self.held_out else data

    def resolved(self) -> "DataConfig":
        """The same with absolute paths, so that a later command finds the files from anywhere."""
        known = self.source in DATASETS or self.source == GIVEN
        return dataclasses.replace(
            self,
            source=self.source if known else _absolute(self.source),
            valid=None if self.valid is None else _absolute(self.valid),
            test=None if self.test is None else _absolute(self.test),
        )

    def moved(self, source: str | Path) -> "DataConfig":
        """The same with its data at another place; files of other splits may have moved along."""
        beside = Path(source).parent

        def place(path: str | None) -> str | None:
            if path is None or Path(path).exists():
                return path
            return str(beside / Path(path).name)

        return dataclasses.replace(
            self, source=str(source), valid=place(self.valid), test=place(self.test)
        ).resolved()


@dataclass(frozen=True)
class RunConfig:
    """A training run: the data, the architecture, the recipe and the seed."""

    data: DataConfig = field(default_factory=DataConfig)
    model: str = "sbn/sbn 10-50-100"
    seed: Seed = 0
    recipe: Recipe = field(default_factory=Recipe)

    def __post_init__(self) -> None:
        check_declared(self)

    def to_toml(self) -> str:
        """As config.toml has it."""
        data = {name: value for name, value in vars(self.data).items() if value is not None}
        values = {"model": self.model, "seed": self.seed, "data": data}
        return tomli_w.dumps({**values, "recipe": self.recipe.to_dict()})


def read_config(path: Path) -> RunConfig:
    """Read a config.toml; anything in it that is not ours is an error."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path.parent} is not a run folder: it has no {path.name}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    expected = {"model": str, "seed": int, "data": dict, "recipe": dict}
    if set(values) != set(expected) or not all(
        isinstance(values[name], kind) for name, kind in expected.items()
    ):
        raise UsageError(f"{path} must have exactly: {', '.join(expected)}")
    recipe = recipe_from_record(values["recipe"], f"{path}, [recipe]")
    data = _read_data(values["data"], path)
    try:
        return RunConfig(data, values["model"], values["seed"], recipe)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _read_data(values: Mapping[str, Any], path: Path) -> DataConfig:
    chosen = dict(values)
    if isinstance(chosen.get("split"), list):
        chosen["split"] = tuple(chosen["split"])
    try:
        return DataConfig(**chosen)
    except UsageError as error:
        raise UsageError(f"{path}, [data]: {error}") from None
    except TypeError:
        raise UsageError(f"{path}: [data] has an unknown field: {', '.join(chosen)}") from None


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().resolve())
