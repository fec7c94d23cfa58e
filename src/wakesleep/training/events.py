"""What training tells those who watch it: an observer is any function of an event."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from wakesleep.data import Table
from wakesleep.recipe import Recipe
from wakesleep.training.candidate import Candidate
from wakesleep.training.snapshot import Snapshot


@dataclass(frozen=True)
class EpochRecord:
    """One epoch in numbers; a line of metrics.jsonl.

    Log-likelihoods are in nats per example. `valid_ll` is that of the raw parameters,
    `valid_ll_average` that of the averaged ones; both are None without a validation set.
    """

    epoch: int
    phase: int
    train_ll: float
    train_bound: float
    valid_ll: float | None
    valid_ll_average: float | None
    best: bool
    effective_samples: float
    largest_weight: float
    kl: tuple[float, ...]
    gradient_norm_p: float
    gradient_norm_q: float
    learning_rate: float
    seconds: float
    examples_per_second: float
    processor_seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Started:
    """Training begins, or goes on, at `epochs_done` of `epochs`."""

    epochs: int
    epochs_done: int


@dataclass(frozen=True)
class Stepped:
    """Some steps of an epoch are done."""

    epoch: int
    steps_done: int
    steps: int


@dataclass(frozen=True)
class EpochDone:
    """An epoch is done and measured; the snapshot is where the next one starts from."""

    record: EpochRecord
    snapshot: Snapshot


@dataclass(frozen=True)
class PretrainingEpoch:
    """An epoch of one of a deep belief network's RBMs, numbered from 1, before the first phase."""

    layer: int
    layers: int
    record: EpochRecord


@dataclass(frozen=True)
class Interrupted:
    """Training was asked to stop; the snapshot is where to go on from."""

    snapshot: Snapshot


@dataclass(frozen=True)
class Finished:
    """The recipe is done; the snapshot holds the best parameters."""

    snapshot: Snapshot
    stopped_early: bool


@dataclass(frozen=True)
class Tried:
    """A candidate of the automatic default is trained; `valid_ll` is None if it diverged."""

    candidate: Candidate
    valid_ll: float | None


@dataclass(frozen=True)
class Chosen:
    """The automatic default is chosen.

    Attributes:
        best: the candidate that did best.
        valid_ll: the validation log-likelihood of the model that is kept.
        independent: that of independent columns.
        components: how many candidates the model is made of; 1 for the best one alone.
        classes: how many latent classes are mixed with them.
    """

    best: Candidate
    valid_ll: float
    independent: float
    components: int = 1
    classes: int = 0


Event = Started | Stepped | EpochDone | PretrainingEpoch | Interrupted | Finished | Tried | Chosen
Observer = Callable[[Event], None]


@runtime_checkable
class Keeper(Protocol):
    """Where the trainings of the RBMs, numbered from 1, are kept so as to go on with them."""

    def newest(self, layer: int, recipe: Recipe, rows: Table) -> Snapshot | None:
        """Where the training of an RBM stands, if it was begun."""

    def observer(self, layer: int) -> Observer:
        """What keeps it."""


@dataclass(frozen=True)
class Watched:
    """Who is told of pretraining, who may stop it, and where it is kept; nobody and nowhere."""

    observers: Sequence[Observer] = ()
    should_stop: Callable[[], bool] = lambda: False
    keeper: Keeper | None = None
