"""Training a model: phases of epochs of compiled steps, each epoch judged on the validation set."""

import dataclasses
import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from wakesleep.data import Dataset
from wakesleep.errors import UsageError
from wakesleep.inference.normaliser import quick_log_normaliser
from wakesleep.inference.rows import check_rows, decoder_of
from wakesleep.models import LatentModel, Mixture, TableModel
from wakesleep.processes.lines import LostProcessError
from wakesleep.processes.team import ALONE, Team
from wakesleep.recipe import Recipe
from wakesleep.training.batches import BatchBlock, phase_batches, with_shares
from wakesleep.training.clocks import Clocks
from wakesleep.training.divergence import explain_failure
from wakesleep.training.epochs import EpochScores, choose_best, epoch_record, next_position
from wakesleep.training.events import (
    EpochDone,
    EpochRecord,
    Event,
    Finished,
    Interrupted,
    Observer,
    Started,
    Stepped,
    Watched,
)
from wakesleep.training.initial import initial_model
from wakesleep.training.loop import Metrics, StepInputs, TrainState, run_steps
from wakesleep.training.progress_bar import TrainingProgress
from wakesleep.training.schedule import learning_rates
from wakesleep.training.snapshot import (
    Arrays,
    Position,
    Snapshot,
    check_resumes,
    first_snapshot,
    next_phase_state,
    step_config,
    training_key,
    validation_key,
)
from wakesleep.training.validation_score import ValidationScore

if TYPE_CHECKING:
    # Loaded by those who have tables.
    from wakesleep.schema import Schema


@dataclass(frozen=True)
class FitResult:
    """A trained model and how it came about.

    Attributes:
        model: the parameters that did best on the validation set, raw or averaged.
        history: one record per epoch of this call.
        snapshot: where training stands; `fit(..., resume=snapshot)` goes on from it. That of the
            best candidate, where the model was chosen automatically.
        schema: what the columns are, where the data are a table.
    """

    model: LatentModel
    history: tuple[EpochRecord, ...]
    snapshot: Snapshot
    schema: "Schema | None" = None

    @property
    def table_model(self) -> TableModel:
        """The model with its schema, for `ws.log_likelihood`, `ws.sample` and `ws.impute`."""
        if self.schema is None:
            raise UsageError("the model was trained on bits, not on a table: use `model` itself")
        return TableModel(self.model, self.schema)


def fit_model(
    model: LatentModel | str,
    data: Dataset,
    recipe: Recipe | None = None,
    *,
    seed: int = 0,
    observers: Sequence[Observer] = (),
    resume: Snapshot | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    progress: bool | None = None,
) -> FitResult:
    """Train a model on a data set.

    Args:
        model: an architecture in the paper's notation, whose parameters then start as the
            recipe says; or a model with parameters to start from (ignored when resuming).
        data: with a training set; without a validation set the last parameters are kept.
        recipe: how; None for the default.
        seed: of everything random. The same call gives the same bits.
        observers: functions told of every event (progress bars, loggers, checkpoints).
        resume: a snapshot to go on from.
        should_stop: asked after every compiled call; True interrupts.
        progress: show it (a bar on a terminal, lines elsewhere); None for on a terminal only.
    """
    if not len(data.train):
        raise UsageError(f"data set '{data.name}' has no training rows")
    chosen = recipe or Recipe()
    if isinstance(model, Mixture):
        raise UsageError(
            "a mixture is made of trained machines: train its components, then put them together "
            "with ws.mix"
        )
    shown = sys.stderr.isatty() if progress is None else progress
    with TrainingProgress(quiet=not shown, as_json=False) as bar:
        watchers: tuple[Observer, ...] = (*observers, bar)
        if isinstance(model, str):
            # A snapshot to go on from has what pretraining led to.
            started = replace(chosen, pretrain=0) if resume else chosen
            model = initial_model(model, data, started, seed, Watched(watchers, should_stop))
        check_rows(model, data.train, f"training set of '{data.name}'")
        if resume is not None:
            check_resumes(resume, chosen, data.train, seed)
        session = _Session(data, chosen, seed, watchers, should_stop)
        return session.run(resume or first_snapshot(model, data, chosen, seed))


def fit_together(
    team: Team,
    snapshot: Snapshot,
    data: Dataset,
    recipe: Recipe,
    *,
    seed: int,
    observers: Sequence[Observer] = (),
    should_stop: Callable[[], bool] = lambda: False,
) -> FitResult:
    """Train from a snapshot, which every process of a team has, to what one alone would come to."""
    return _Session(data, recipe, seed, tuple(observers), should_stop, team).run(snapshot)


class _Session:
    """One call of `fit_model`: what does not change while it runs, and the history it gathers."""

    def __init__(
        self,
        data: Dataset,
        recipe: Recipe,
        seed: int,
        observers: tuple[Observer, ...],
        should_stop: Callable[[], bool],
        team: Team = ALONE,
    ):
        recipe = with_shares(recipe, len(data.train), team.count)
        self.data, self.recipe, self.seed = data, recipe, seed
        self.phases = recipe.expand()
        self.batches = [phase_batches(data, phase, seed, team.part) for phase in self.phases]
        self.observers = observers
        self.should_stop = lambda: team.any(should_stop())
        self.team, self.compiled = team, False
        self.training_key, self.validation_key = training_key(seed), validation_key(seed)
        self.no_sums: Metrics | None = None
        self.history: list[EpochRecord] = []

    def run(self, snapshot: Snapshot) -> FitResult:
        """From a snapshot to the end of the recipe, or to an interruption."""
        self.tell(Started(self.recipe.total_epochs, snapshot.position.epoch))
        self.latest: Callable[[], Snapshot] = functools.partial(replace, snapshot)
        try:
            while snapshot.position.phase < len(self.phases):
                snapshot = self.run_epoch(snapshot)
                self.latest = functools.partial(replace, snapshot)
                if self._stopped_within(snapshot):
                    self.tell(Interrupted(snapshot))
                    return self.result(snapshot)
        except LostProcessError:
            self.tell(Interrupted(self.latest()))
            raise
        # A run that was resumed after its end has nothing to report again.
        if not snapshot.finished:
            stopped_early = snapshot.position.epoch < self.recipe.total_epochs
            snapshot = replace(snapshot, finished=True)
            self.tell(Finished(snapshot, stopped_early))
        return self.result(snapshot)

    def _stopped_within(self, snapshot: Snapshot) -> bool:
        """Whether to leave here: inside an epoch, or asked to between two."""
        if snapshot.position.phase == len(self.phases):
            return False
        return snapshot.position.step > 0 or self.should_stop()

    def run_epoch(self, before: Snapshot) -> Snapshot:
        """One epoch, or the rest of one; a snapshot inside the epoch when asked to stop."""
        position, phase = before.position, self.phases[before.position.phase]
        state, sums, done = before.arrays.state, before.arrays.sums, position.step
        batches = self.batches[position.phase]
        steps = batches.steps
        rates = learning_rates(phase, position.phase_epoch, steps)
        began = Clocks.now()

        def snapshot() -> Snapshot:
            arrays, there = Arrays(state, before.arrays.best, sums), replace(position, step=done)
            return began.passed(before, Snapshot(arrays, there, before.best, before.seconds))

        self.latest = snapshot
        for block in batches.epoch(position.epoch, position.step):
            state, sums = self.run_block(state, sums, block, rates, before)
            done = block.first + block.steps
            self.tell(Stepped(position.epoch, done, steps))
            if done < steps and self.should_stop():
                return snapshot()
        log_z = quick_log_normaliser(state.model, self.validation_key, self.data.train)
        scores = EpochScores(*self.validate(state, phase, log_z), float(rates[-1]), steps, log_z)
        # Another machine may round otherwise, and all must take the same decisions.
        agreed, took = self.team.by_leader((dataclasses.astuple(scores), began.since()))
        arrays = Arrays(state, before.arrays.best, sums)
        return self.end_epoch(before, arrays, EpochScores(*agreed), tuple(took))

    def run_block(
        self,
        state: TrainState,
        sums: Metrics,
        block: BatchBlock,
        rates: np.ndarray,
        before: Snapshot,
    ) -> tuple[TrainState, Metrics]:
        """The steps of one compiled call."""
        epoch, phase = before.position.epoch, self.phases[before.position.phase]
        padded = np.resize(rates[block.first : block.first + block.steps], len(block.numbers))
        team, rows = self.team, jax.tree.map(jnp.asarray, (block.rows, block.numbers))
        key = jax.random.fold_in(self.training_key, epoch)
        rest = team.everywhere((jnp.asarray(padded), key, jnp.asarray(block.first)))
        inputs = StepInputs(*team.shared_rows(rows), *rest)
        config = step_config(phase, decoder_of(self.data.train), team.mesh)
        whole, count = team.everywhere((state, jnp.asarray(block.steps)))
        if team.count > 1 and not self.compiled:
            # By no step, which needs no other process: gloo may fail one that is late (jax#40831).
            team.together(run_steps, whole, inputs, team.everywhere(jnp.asarray(0)), config)
            self.compiled = not team.any(False)
        outcome = team.together(run_steps, whole, inputs, count, config)
        if bool(outcome.failed):
            raise explain_failure(whole, inputs, int(outcome.done), config, epoch)
        return outcome.state, jax.tree.map(jnp.add, sums, outcome.sums)

    def end_epoch(
        self, before: Snapshot, arrays: Arrays, scores: EpochScores, took: tuple[float, float]
    ) -> Snapshot:
        """Keep the best parameters, and move on to the next epoch or phase."""
        position, phase = before.position, self.phases[before.position.phase]
        best, kept = choose_best(before, arrays.state, scores, bool(phase.average))
        rate = scores.steps * self.batches[position.phase].batch_size / took[0]
        record = replace(
            epoch_record(position, arrays.sums, scores, best),
            seconds=took[0],
            examples_per_second=rate,
            processor_seconds=took[1],
        )
        self.history.append(record)
        spent = before.processor_seconds + took[1]
        after = next_position(position, best, phase)
        if 0 < phase.processor_seconds <= spent:
            after = Position(len(self.phases), 0, after.epoch, 0)
        state = arrays.state
        if after.phase != position.phase and after.phase < len(self.phases):
            following = self.phases[after.phase]
            state = next_phase_state(state, (phase, following), self.data.train, self.seed, after)
            self.compiled = False
        if self.no_sums is None:
            self.no_sums = jax.tree.map(jnp.zeros_like, arrays.sums)
        arrays = Arrays(state, kept, self.no_sums)
        total = before.seconds + took[0]
        snapshot = Snapshot(arrays, after, best, total, processor_seconds=spent)
        self.tell(EpochDone(record, snapshot))
        return snapshot

    def validate(
        self, state: TrainState, phase: Recipe, log_z: float
    ) -> tuple[float | None, float | None]:
        """The validation log-likelihood of the raw and of the averaged parameters.

        log Z is that of the raw ones.
        """
        rows, key = self.data.valid, self.validation_key
        if not len(rows):
            return None, None
        measure = ValidationScore(rows, phase.validation_samples, key, self.team)
        return measure(state.model, log_z), measure(state.average) if phase.average else None

    def tell(self, event: Event) -> None:
        """Every observer hears of it, in order."""
        for observer in self.observers:
            observer(event)

    def result(self, snapshot: Snapshot) -> FitResult:
        """What `fit` returns."""
        best = snapshot.arrays.best
        return FitResult(best, tuple(self.history), snapshot, self.data.schema)
