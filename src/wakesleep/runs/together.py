"""One training by several processes: process 0 has the folder, the others do as it says.

Process 0 runs the command as it would alone. Wherever that comes to a training, it says which, and
all take part. So a choice of a model or of a learning rate needs nothing of its own.
"""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from wakesleep.data import Dataset
from wakesleep.errors import UsageError, WakesleepError
from wakesleep.processes.lines import LostProcessError
from wakesleep.processes.team import Team
from wakesleep.recipe import Recipe
from wakesleep.recipe_files import recipe_from_dict
from wakesleep.runs.config import DataConfig, RunConfig
from wakesleep.runs.data_record import DataRecord, record_data
from wakesleep.schema import Schema
from wakesleep.storage import model_header, model_shapes
from wakesleep.training.batches import with_shares
from wakesleep.training.divergence import DivergenceError
from wakesleep.training.events import Observer
from wakesleep.training.session import FitResult, fit_together
from wakesleep.training.snapshot import Best, Position, Snapshot, phase_arrays

ENDED = "ended"


@dataclass(frozen=True)
class Training:
    """What process 0 tells of a training; `record` is of the data."""

    config: RunConfig
    snapshot: Snapshot
    data: Dataset
    record: DataRecord

    def to_message(self) -> dict[str, Any]:
        """Plain values."""
        snapshot, data = self.snapshot, self.data
        return {
            "recipe": self.config.recipe.to_dict(),
            "seed": self.config.seed,
            "data": dataclasses.asdict(self.config.data),
            "schema": None if data.schema is None else data.schema.to_dict(),
            "record": dataclasses.asdict(self.record),
            "header": model_header(snapshot.arrays.state.model),
            "position": dataclasses.asdict(snapshot.position),
            "best": dataclasses.asdict(snapshot.best),
            "seconds": snapshot.seconds,
            "processor_seconds": snapshot.processor_seconds,
        }


def lead(
    team: Team,
    training: Training,
    observers: tuple[Observer, ...],
    should_stop: Callable[[], bool],
) -> FitResult:
    """Train as process 0, with all others."""
    config = training.config
    with_shares(config.recipe, len(training.data.train), team.count)
    team.by_leader(training.to_message())
    _agree(team, None)
    snapshot = _sent(team, training.snapshot)
    return fit_together(
        team,
        snapshot,
        training.data,
        config.recipe,
        seed=config.seed,
        observers=observers,
        should_stop=should_stop,
    )


def dismiss(team: Team) -> None:
    """Tell the others that there is nothing more to train."""
    try:
        team.by_leader(ENDED)
    except LostProcessError:
        # Whatever they waited for, it is over for them too.
        return


@dataclass
class Follower:
    """A process that has no folder: it takes part in what process 0 trains.

    Attributes:
        team: all processes.
        files: where this machine has the data, unless it is where process 0 has them.
        should_stop: asked after every compiled call; True stops all processes.
    """

    team: Team
    files: DataConfig | str | None
    should_stop: Callable[[], bool]

    def run(self) -> int:
        """Take part until process 0 is done; the exit code of a command that went well."""
        loaded: dict[str, Dataset] = {}
        while (message := self.team.by_leader(None)) != ENDED:
            try:
                self._train(message, loaded)
            except DivergenceError:
                # Process 0 came to the same end, and says so.
                continue
        return 0

    def _train(self, message: dict[str, Any], loaded: dict[str, Dataset]) -> None:
        place = json.dumps([message["data"], message["schema"]])
        try:
            if place not in loaded:
                loaded.clear()
                loaded[place] = self._load(message)
            data = loaded[place]
            problem = _difference(message["record"], record_data(data))
        except WakesleepError as error:
            problem = str(error)
        _agree(self.team, problem)
        recipe = recipe_from_dict(message["recipe"], "process 0's recipe")
        snapshot = _sent(self.team, _expected(message, recipe, data))
        fit_together(
            self.team,
            snapshot,
            data,
            recipe,
            seed=message["seed"],
            should_stop=self.should_stop,
        )

    def _load(self, message: dict[str, Any]) -> Dataset:
        values = message["data"]
        config = DataConfig(**{**values, "split": tuple(values["split"])})
        if isinstance(self.files, DataConfig):
            places = {name: getattr(self.files, name) for name in ("source", "valid", "test")}
            config = dataclasses.replace(config, **places)
        elif self.files:
            config = config.moved(self.files)
        known = message["schema"]
        return config.load(None if known is None else Schema.from_dict(known, "process 0's schema"))


def _agree(team: Team, problem: str | None) -> None:
    """Go on if no process has a problem; else all stop with the same sentence."""
    for number, said in enumerate(team.by_all(problem)):
        if said is not None:
            raise UsageError(f"process {number} cannot take part: {said}")


def _difference(theirs: dict[str, Any], own: DataRecord) -> str | None:
    mine = json.loads(json.dumps(dataclasses.asdict(own)))
    for split, record in theirs["splits"].items():
        here = mine["splits"][split]
        if record["rows"] != here["rows"]:
            return f"its {split} set has {here['rows']} rows, process 0's has {record['rows']}"
        if record["sha256"] != here["sha256"]:
            return f"its {split} set has other contents than process 0's"
    return None if theirs["features"] == mine["features"] else "its data have other columns"


def _sent(team: Team, snapshot: Snapshot) -> Snapshot:
    arrays, rest = eqx.partition(snapshot.arrays, eqx.is_array)
    arrived = eqx.combine(team.from_leader(arrays), rest)
    return dataclasses.replace(snapshot, arrays=arrived)


def _expected(message: dict[str, Any], recipe: Recipe, data: Dataset) -> Snapshot:
    """A snapshot like process 0's but for the numbers in its arrays."""
    position = Position(**message["position"])
    phases = recipe.expand()
    phase = phases[min(position.phase, len(phases) - 1)]
    shapes = model_shapes(message["header"], Path("process 0's model"))
    like = eqx.filter_eval_shape(lambda model: phase_arrays(model, phase, data.train, 0), shapes)
    arrays = jax.tree.map(
        lambda leaf: (
            jnp.zeros(leaf.shape, leaf.dtype) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf
        ),
        like,
    )
    taken = (message["seconds"], False, message["processor_seconds"])
    return Snapshot(arrays, position, Best(**message["best"]), *taken)
