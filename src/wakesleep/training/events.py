"""What training tells those who watch it: an observer is any function of an event."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


Event = Started | Stepped | EpochDone | Interrupted | Finished | Tried | Chosen
Observer = Callable[[Event], None]
