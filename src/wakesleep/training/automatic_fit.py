"""Training the automatic default's candidates and choosing among them; it knows no folder."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import jax

from wakesleep.data import Dataset
from wakesleep.data.held_out import held_out_note, hold_out
from wakesleep.models import HelmholtzMachine, LatentModel, Mixture
from wakesleep.training.automatic import (
    MINUTES,
    RUNGS,
    automatic_candidates,
    companion,
    held_back_like,
    held_back_more,
    most_companions,
    nominal_seconds,
    order_matters,
    smoothed,
    way_of,
)
from wakesleep.training.automatic_mixture import assemble
from wakesleep.training.candidate import Candidate
from wakesleep.training.class_model import INDEPENDENT, fit_classes, rows_repeat
from wakesleep.training.divergence import DivergenceError
from wakesleep.training.events import Chosen, Event, Observer, Tried
from wakesleep.training.initial import initial_model
from wakesleep.training.progress_bar import TrainingProgress
from wakesleep.training.session import FitResult, fit_model
from wakesleep.training.snapshot import validation_key
from wakesleep.training.sparse_model import fit_sparse, sparse_seconds
from wakesleep.training.validation_score import ValidationScore

MIXING = 3
"""Folded into the seed's key for the weights of a mixture."""


@dataclass(frozen=True)
class Trained:
    """How a candidate did.

    Attributes:
        valid_ll: its best validation log-likelihood; None if it diverged.
        epochs: that were trained.
        model: gives its parameters.
    """

    valid_ll: float | None
    epochs: int
    model: Callable[[], LatentModel]


@dataclass(frozen=True)
class Choice:
    """What was tried, and what was taken.

    Attributes:
        best: the candidate that did best.
        tried: every candidate, in order.
        valid_ll: the validation log-likelihood of the model that was taken.
        independent: that of independent columns.
        mixture: the candidates in one model, with sparse regressions, with latent classes or
            without, or these alone, if that is better.
        classes: how many latent classes there are in it.
    """

    best: Candidate
    tried: tuple[Tried, ...]
    valid_ll: float
    independent: float
    mixture: Mixture | None = None
    classes: int = 0

    @property
    def machines(self) -> int:
        """How many candidates and sparse regressions are in the model that was taken."""
        return 1 if self.mixture is None else len(self.mixture.components) - self.classes


Train = Callable[[Candidate], Trained | None]
"""Trains a candidate, or finds it trained; None when interrupted."""


def choose(
    data: Dataset, minutes: float | int, seed: int, train: Train, tell: Observer
) -> Choice | None:
    """Train the candidates and take the best on the validation rows; None when interrupted.

    `data` has validation rows. What is done here is the same in memory and in a folder.
    """
    attempts = _Attempts(data, minutes, train, tell)
    first, *others = automatic_candidates(data, minutes)
    # Nothing learns the frequencies of few distinct rows better than counting does.
    members: list[HelmholtzMachine | Mixture] | None
    if rows_repeat(data):
        members = [] if attempts.one(first) else None
    else:
        members = _all_members(attempts, first, others)
    if members is None:
        return None
    best = attempts.best()[0]
    choice = Choice(best, attempts.tried(), attempts.score(best), independent_columns(data, seed))
    key = jax.random.fold_in(validation_key(seed), MIXING)
    made = assemble(members, fit_classes(data, seed), data, best.recipe.validation_samples, key)
    if made is not None:
        classes = len(made.model.components) - made.machines
        choice = replace(choice, valid_ll=made.valid_ll, mixture=made.model, classes=classes)
    tell(Chosen(best, choice.valid_ll, choice.independent, choice.machines, choice.classes))
    return choice


def _all_members(
    attempts: "_Attempts", first: Candidate, others: Sequence[Candidate]
) -> list[HelmholtzMachine | Mixture] | None:
    """All candidates that did not diverge, the best one first, and sparse regressions.

    None when interrupted.
    """
    data = attempts.data
    sparse = sparse_seconds(data, attempts.left)
    for start in filter(None, (first, smoothed(first, data))):
        if not (attempts.one(start) and attempts.held_back(start)):
            return None
    # What holds one model back from learning the rows by heart will do for the others.
    held_back = attempts.best()[0]
    for other in (held_back_like(each, held_back) for each in others):
        if not attempts.one(other):
            return None
        if other.recipe.sparsity and not attempts.held_back(other):
            return None
    best = attempts.best()[0]
    attempts.left -= sparse
    if not attempts.companions(best):
        return None
    names = sorted(attempts.finished(), key=lambda one: one != best)
    models = [attempts.done[one].model() for one in names]
    machines = [model for model in models if isinstance(model, HelmholtzMachine)]
    return [*machines, *([fit_sparse(data)] if sparse else [])]


class _Attempts:
    """Candidates trained one after another, and what that took of the budget."""

    def __init__(self, data: Dataset, minutes: float | int, train: Train, tell: Observer):
        self.data, self.train, self.tell = data, train, tell
        self.left, self.most_companions = 60.0 * minutes, most_companions(minutes)
        self.done: dict[Candidate, Trained] = {}

    def held_back(self, first: Candidate) -> bool:
        """Where training was stopped early, hold back more as long as it helps and is affordable.

        False when interrupted.
        """
        before = first
        for rung in range(1, RUNGS + 1):
            epochs = self.done[before].epochs
            if epochs == before.recipe.epochs:
                return True
            candidate = held_back_more(first, rung)
            if nominal_seconds(candidate, self.data, epochs) > self.left:
                return True
            if not self.one(candidate):
                return False
            if self.score(candidate) <= self.score(before):
                return True
            before = candidate
        return True

    def companions(self, best: Candidate) -> bool:
        """Train the best candidate again, as often as the budget is still good for.

        Each is expected to stop when the best one did. False when interrupted.
        """
        lost: set[str] = set()
        for number in range(1, self.most_companions + 1):
            candidate = companion(best, number, lost)
            if nominal_seconds(candidate, self.data, self.done[best].epochs) > self.left:
                break
            if not self.one(candidate):
                return False
            if order_matters(self.score(best), self.score(candidate)):
                lost.add(way_of(candidate))
        return True

    def one(self, candidate: Candidate) -> bool:
        """Train a candidate; False when interrupted."""
        trained = self.train(candidate)
        if trained is None:
            return False
        self.done[candidate] = trained
        self.left -= nominal_seconds(candidate, self.data, trained.epochs)
        self.tell(Tried(candidate, trained.valid_ll))
        return True

    def best(self) -> tuple[Candidate, Trained]:
        """The one with the best validation log-likelihood."""
        finished = self.finished()
        if not finished:
            names = ", ".join(one.model for one in self.done)
            raise DivergenceError(f"every candidate diverged ({names}): give a model of your own")
        best = max(finished, key=self.score)
        return best, self.done[best]

    def finished(self) -> list[Candidate]:
        """Those that did not diverge."""
        return [one for one in self.done if self.done[one].valid_ll is not None]

    def score(self, candidate: Candidate) -> float:
        """A candidate's validation log-likelihood; one that diverged comes last."""
        valid_ll = self.done[candidate].valid_ll
        return float("-inf") if valid_ll is None else valid_ll

    def tried(self) -> tuple[Tried, ...]:
        """Every candidate and how it did."""
        return tuple(Tried(one, trained.valid_ll) for one, trained in self.done.items())


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
    results: dict[Candidate, FitResult] = {}
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
                    seed=seed + candidate.seed,
                    observers=everyone,
                    should_stop=should_stop,
                    progress=False,
                )
            except DivergenceError:
                epochs = candidate.recipe.epochs
                return Trained(None, epochs, lambda: initial_model(candidate.model, data))
            results[candidate] = result
            epochs, best = result.snapshot.position.epoch, result.snapshot.best
            if not result.snapshot.finished:
                return None
            return Trained(best.valid_ll, epochs, lambda: result.model)

        choice = choose(data, minutes, seed, train, tell)
    if choice is None:
        return list(results.values())[-1]
    kept = results[choice.best]
    return kept if choice.mixture is None else replace(kept, model=choice.mixture)
