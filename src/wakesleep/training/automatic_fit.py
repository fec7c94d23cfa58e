"""Training the automatic default's candidates and choosing among them; it knows no folder."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wakesleep.data import Dataset
from wakesleep.data.held_out import held_out_note, hold_out
from wakesleep.models import LatentModel
from wakesleep.training.automatic import MINUTES, automatic_candidates
from wakesleep.training.candidate import Candidate
from wakesleep.training.divergence import DivergenceError
from wakesleep.training.events import Chosen, Event, Observer, Tried
from wakesleep.training.initial import initial_model
from wakesleep.training.progress_bar import TrainingProgress
from wakesleep.training.session import FitResult, fit_model
from wakesleep.training.snapshot import validation_key
from wakesleep.training.validation_score import ValidationScore

INDEPENDENT = "sbn"
"""A layer without parents: before any training it is what independent columns are."""


@dataclass(frozen=True)
class Trained:
    """How a candidate did.

    Attributes:
        valid_ll: its best validation log-likelihood; None if it diverged.
        model: gives its parameters.
    """

    valid_ll: float | None
    model: Callable[[], LatentModel]


@dataclass(frozen=True)
class Choice:
    """What was tried, and what was taken.

    Attributes:
        best: the candidate that did best.
        tried: every candidate, in order.
        valid_ll: the validation log-likelihood of the model that was taken.
        independent: that of independent columns.
    """

    best: Candidate
    tried: tuple[Tried, ...]
    valid_ll: float
    independent: float


Train = Callable[[Candidate], Trained | None]
"""Trains a candidate, or finds it trained; None when interrupted."""


def choose(
    data: Dataset, minutes: float | int, seed: int, train: Train, tell: Observer
) -> Choice | None:
    """Train every candidate and take the best on the validation rows; None when interrupted.

    `data` has validation rows. What is done here is the same in memory and in a folder.
    """
    tried: list[Tried] = []
    candidates = automatic_candidates(data, minutes)
    for candidate in candidates:
        trained = train(candidate)
        if trained is None:
            return None
        tried.append(Tried(candidate, trained.valid_ll))
        tell(tried[-1])
    scores = [(one.valid_ll, one.candidate) for one in tried if one.valid_ll is not None]
    if not scores:
        names = ", ".join(one.candidate.model for one in tried)
        raise DivergenceError(f"every candidate diverged ({names}): give a model of your own")
    valid_ll, best = max(scores, key=lambda one: one[0])
    choice = Choice(best, tuple(tried), valid_ll, independent_columns(data, seed))
    tell(Chosen(choice.best, choice.valid_ll, choice.independent))
    return choice


def independent_columns(data: Dataset, seed: int) -> float:
    """The validation log-likelihood of columns that do not heed each other: the yardstick."""
    model = initial_model(INDEPENDENT, data, seed=seed)
    return ValidationScore(data.valid, 1, validation_key(seed))(model)


def fit_automatic(
    data: Dataset,
    *,
    minutes: float | int = MINUTES,
    seed: int = 0,
    progress: bool | None = None,
    observers: Sequence[Observer] = (),
    should_stop: Callable[[], bool] = lambda: False,
) -> FitResult:
    """Train the automatic default: a few models, of which the best on validation rows is kept.

    Args:
        data: with a training set; without a validation set a part of the training rows is held
            out for the choice (`held_out_count` says how many).
        minutes: the budget, as arithmetic: no clock is read.
        seed: of everything random. The same call gives the same bits.
        progress: show it; None for on a terminal only.
        observers: functions told of every event of every candidate.
        should_stop: asked after every compiled call; True interrupts, and the result is that of
            the candidate under way.
    """
    results: dict[str, FitResult] = {}
    shown = sys.stderr.isatty() if progress is None else progress
    if not len(data.valid):
        data = hold_out(data)
        if shown:
            print(held_out_note(data), file=sys.stderr)
    with TrainingProgress(quiet=not shown, as_json=False, epoch_lines=False) as bar:
        everyone: tuple[Observer, ...] = (*observers, bar)

        def tell(event: Event) -> None:
            for observer in everyone:
                observer(event)

        def train(candidate: Candidate) -> Trained | None:
            try:
                result = fit_model(
                    candidate.model,
                    data,
                    candidate.recipe,
                    seed=seed,
                    observers=everyone,
                    should_stop=should_stop,
                    progress=False,
                )
            except DivergenceError:
                return Trained(None, lambda: initial_model(candidate.model, data, seed=seed))
            results[candidate.name] = result
            if not result.snapshot.finished:
                return None
            return Trained(result.snapshot.best.valid_ll, lambda: result.model)

        choice = choose(data, minutes, seed, train, tell)
    if choice is None:
        return list(results.values())[-1]
    return results[choice.best.name]
