"""Training: phases of epochs of compiled steps, judged on the validation set after each epoch."""

import functools
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np

from wakesleep.data import Dataset, check_width
from wakesleep.errors import UsageError
from wakesleep.estimators import estimator_for
from wakesleep.model import HelmholtzMachine
from wakesleep.recipe import Recipe
from wakesleep.training.batches import epoch_calls, steps_per_epoch
from wakesleep.training.divergence import explain_failure
from wakesleep.training.events import (
    EpochDone,
    EpochRecord,
    Finished,
    Interrupted,
    Observer,
    Started,
    Stepped,
)
from wakesleep.training.loop import Metrics, Plan, TrainState, Work, run_steps
from wakesleep.training.optimisers import build_optimiser
from wakesleep.training.progress import TrainingProgress
from wakesleep.training.snapshot import (
    Arrays,
    Best,
    Position,
    Snapshot,
    first_arrays,
    zero_metrics,
)
from wakesleep.training.validation import Validation


@dataclass(frozen=True)
class FitResult:
    """A trained model and how it came about.

    Attributes:
        model: the parameters that did best on the validation set, raw or averaged.
        history: one record per epoch of this call.
        snapshot: where training stands; `fit(..., resume=snapshot)` goes on from it.
    """

    model: HelmholtzMachine
    history: tuple[EpochRecord, ...]
    snapshot: Snapshot


def fit(
    model: HelmholtzMachine,
    data: Dataset,
    recipe: Recipe | None = None,
    *,
    seed: int = 0,
    observers: Sequence[Observer] = (),
    resume: Snapshot | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    progress: bool | None = None,
) -> FitResult:
    """Train a machine on a data set.

    Args:
        model: initial parameters; ignored when resuming.
        data: with a training set; without a validation set the last parameters are kept.
        recipe: how; None for the default.
        seed: of everything random. The same call gives the same bits.
        observers: functions told of every event (progress bars, loggers, checkpoints).
        resume: a snapshot to go on from.
        should_stop: asked after every compiled call; True interrupts.
        progress: show it (a bar on a terminal, lines elsewhere); None for on a terminal only.
    """
    check_width(data.train, model.features, f"training set of '{data.name}'")
    if not len(data.train):
        raise UsageError(f"data set '{data.name}' has no training rows")
    shown = sys.stderr.isatty() if progress is None else progress
    with TrainingProgress(quiet=not shown, as_json=False) as bar:
        session = _Session(data, recipe or Recipe(), seed, (*observers, bar), should_stop)
        start = Snapshot(first_arrays(model, session.phases[0]), Position(), Best(), seconds=0.0)
        return session.run(resume or start)


@functools.lru_cache(maxsize=8)
def build_plan(phase: Recipe) -> Plan:
    """How a phase takes a step; the same object each time, so that it is compiled once."""
    return Plan(estimator_for(phase), build_optimiser(phase), phase.average)


def learning_rates(phase: Recipe, phase_epoch: int, steps: int) -> np.ndarray:
    """The rate of every step of an epoch."""
    done = (phase_epoch * steps + np.arange(steps)) / (phase.epochs * steps)
    cosine = 0.5 * (1 + np.cos(np.pi * done)) if phase.schedule == "cosine" else np.ones(steps)
    rate = phase.learning_rate * cosine / phase.rate_divisor**phase_epoch
    return rate.astype(np.float32)


class _Session:
    """One call of `fit`: what does not change while it runs, and the history it gathers."""

    def __init__(
        self,
        data: Dataset,
        recipe: Recipe,
        seed: int,
        observers: tuple[Observer, ...],
        should_stop: Callable[[], bool],
    ):
        self.data = data
        self.recipe = recipe
        self.phases = recipe.expand()
        self.seed = seed
        self.observers = observers
        self.should_stop = should_stop
        self.training_key, self.validation_key = jax.random.split(jax.random.key(seed))
        self.history: list[EpochRecord] = []

    def run(self, snapshot: Snapshot) -> FitResult:
        """From a snapshot to the end of the recipe, or to an interruption."""
        self.tell(Started(self.recipe.total_epochs, snapshot.position.epoch))
        while snapshot.position.phase < len(self.phases):
            finished = self.run_epoch(snapshot)
            if finished is None:
                return self.result(self.interrupted)
            snapshot = finished
        # A run that was resumed after its end has nothing to report again.
        if not snapshot.finished:
            stopped_early = snapshot.position.epoch < self.recipe.total_epochs
            snapshot = replace(snapshot, finished=True)
            self.tell(Finished(snapshot, stopped_early))
        return self.result(snapshot)

    def run_epoch(self, snapshot: Snapshot) -> Snapshot | None:
        """One epoch, or the rest of one; None (and `self.interrupted`) when asked to stop."""
        position, phase = snapshot.position, self.phases[snapshot.position.phase]
        state, sums = snapshot.arrays.state, snapshot.arrays.sums
        batch_size = min(phase.batch_size, len(self.data.train))
        steps = steps_per_epoch(len(self.data.train), batch_size)
        rates = learning_rates(phase, position.phase_epoch, steps)
        key = jax.random.fold_in(self.training_key, position.epoch)
        plan = build_plan(phase)
        began = time.perf_counter()
        calls = epoch_calls(self.data.train, batch_size, self.seed, position.epoch, position.step)
        for call in calls:
            padded = np.resize(rates[call.first : call.first + call.steps], len(call.rows))
            work = Work(jnp.asarray(call.rows), jnp.asarray(padded), key, jnp.asarray(call.first))
            outcome = run_steps(state, work, jnp.asarray(call.steps), plan)
            if bool(outcome.failed):
                raise explain_failure(state, work, int(outcome.done), plan, position.epoch)
            state, sums = outcome.state, jax.tree.map(jnp.add, sums, outcome.sums)
            done = call.first + call.steps
            self.tell(Stepped(position.epoch, done, steps))
            if done < steps and self.should_stop():
                arrays = Arrays(state, snapshot.arrays.best, sums)
                elapsed = snapshot.seconds + time.perf_counter() - began
                self.interrupted = Snapshot(
                    arrays, replace(position, step=done), snapshot.best, elapsed
                )
                self.tell(Interrupted(self.interrupted))
                return None
        return self.end_epoch(snapshot, state, sums, steps, float(rates[-1]), began)

    def end_epoch(
        self,
        before: Snapshot,
        state: TrainState,
        sums: Metrics,
        steps: int,
        rate: float,
        began: float,
    ) -> Snapshot | None:
        """Validate, keep the best parameters, and move on to the next epoch or phase."""
        position, phase = before.position, self.phases[before.position.phase]
        raw, averaged = self.validate(state, phase)
        best, kept = _choose(before, state, raw, averaged, position.epoch, bool(phase.average))
        seconds = time.perf_counter() - began
        record = _record(position, sums, steps, raw, averaged, best, rate, seconds, self.data)
        self.history.append(record)
        after = self.next_position(position, best)
        if after.phase != position.phase and after.phase < len(self.phases):
            fresh = build_optimiser(self.phases[after.phase]).init(state.model)
            state = state._replace(optimiser=fresh)
        arrays = Arrays(state, kept, zero_metrics(state.model))
        snapshot = Snapshot(arrays, after, best, before.seconds + seconds)
        self.tell(EpochDone(record, snapshot))
        if after.phase < len(self.phases) and self.should_stop():
            self.interrupted = snapshot
            self.tell(Interrupted(snapshot))
            return None
        return snapshot

    def validate(self, state: TrainState, phase: Recipe) -> tuple[float | None, float | None]:
        """The validation log-likelihood of the raw and of the averaged parameters."""
        if not len(self.data.valid):
            return None, None
        measure = Validation(self.data.valid, phase.validation_samples, self.validation_key)
        return measure(state.model), measure(state.average) if phase.average else None

    def next_position(self, position: Position, best: Best) -> Position:
        """The next epoch of the phase, or the first of the next one where patience has run out."""
        phase = self.phases[position.phase]
        epoch = position.epoch + 1
        # A phase's patience counts from its own start: an earlier phase's best is not its failure.
        start = position.epoch - position.phase_epoch
        last_gain = max(start, -1 if best.epoch is None else best.epoch)
        impatient = bool(
            phase.patience
            and best.valid_ll is not None
            and position.epoch - last_gain >= phase.patience
        )
        if impatient or position.phase_epoch + 1 == phase.epochs:
            return Position(position.phase + 1, 0, epoch, 0)
        return Position(position.phase, position.phase_epoch + 1, epoch, 0)

    def tell(self, event: Started | Stepped | EpochDone | Interrupted | Finished) -> None:
        """Every observer hears of it, in order."""
        for observer in self.observers:
            observer(event)

    def result(self, snapshot: Snapshot) -> FitResult:
        """What `fit` returns."""
        return FitResult(snapshot.arrays.best, tuple(self.history), snapshot)


def _choose(
    before: Snapshot,
    state: TrainState,
    raw: float | None,
    averaged: float | None,
    epoch: int,
    has_average: bool,
) -> tuple[Best, HelmholtzMachine]:
    if raw is None:
        return Best(None, epoch, has_average), state.average
    candidates = [(raw, False), *([(averaged, True)] if averaged is not None else [])]
    value, is_average = max(candidates)
    if before.best.valid_ll is not None and value <= before.best.valid_ll:
        return before.best, before.arrays.best
    return Best(value, epoch, is_average), state.average if is_average else state.model


def _record(
    position: Position,
    sums: Metrics,
    steps: int,
    raw: float | None,
    averaged: float | None,
    best: Best,
    rate: float,
    seconds: float,
    data: Dataset,
) -> EpochRecord:
    mean = jax.tree.map(lambda total: float(total) / steps, sums)
    return EpochRecord(
        epoch=position.epoch + 1,
        phase=position.phase + 1,
        train_ll=mean.info.log_likelihood,
        train_bound=mean.info.bound,
        valid_ll=raw,
        valid_ll_average=averaged,
        best=best.epoch == position.epoch,
        effective_samples=mean.info.effective_samples,
        largest_weight=mean.info.largest_weight,
        kl=mean.info.kl,
        gradient_norm_p=mean.gradient_norm_p,
        gradient_norm_q=mean.gradient_norm_q,
        learning_rate=rate,
        seconds=seconds,
        examples_per_second=len(data.train) / seconds,
    )
