"""The end of an epoch: which parameters are kept, what is written down, where to go on."""

from dataclasses import dataclass

import jax

from wakesleep.models import LatentModel
from wakesleep.recipe import Recipe
from wakesleep.training.events import EpochRecord
from wakesleep.training.loop import Metrics, TrainState
from wakesleep.training.snapshot import Best, Position, Snapshot


@dataclass(frozen=True)
class EpochScores:
    """What is known of an epoch beside its sums.

    Attributes:
        raw: the validation log-likelihood of the raw parameters; None without a validation set.
        averaged: that of the averaged ones, where there are any.
        learning_rate: of the last step.
        steps: that were taken.
        log_normaliser: log Z of an undirected top at the epoch's end, 0 for any other. The sums
            were taken without it.
    """

    raw: float | None
    averaged: float | None
    learning_rate: float
    steps: int
    log_normaliser: float = 0.0


def choose_best(
    before: Snapshot, state: TrainState, scores: EpochScores, has_average: bool
) -> tuple[Best, LatentModel]:
    """The best validation score so far and its parameters; the last ones without validation."""
    epoch = before.position.epoch
    if scores.raw is None:
        return Best(None, epoch, has_average), state.average
    candidates = [(scores.raw, False)]
    if scores.averaged is not None:
        candidates.append((scores.averaged, True))
    value, is_average = max(candidates)
    if before.best.valid_ll is not None and value <= before.best.valid_ll:
        return before.best, before.arrays.best
    return Best(value, epoch, is_average), state.average if is_average else state.model


def epoch_record(position: Position, sums: Metrics, scores: EpochScores, best: Best) -> EpochRecord:
    """The epoch in numbers, all but how long it took."""
    mean = jax.tree.map(lambda total: float(total) / scores.steps, sums)
    return EpochRecord(
        epoch=position.epoch + 1,
        phase=position.phase + 1,
        train_ll=mean.info.log_likelihood - scores.log_normaliser,
        train_bound=mean.info.bound - scores.log_normaliser,
        valid_ll=scores.raw,
        valid_ll_average=scores.averaged,
        best=best.epoch == position.epoch,
        effective_samples=mean.info.effective_samples,
        largest_weight=mean.info.largest_weight,
        kl=(*mean.info.kl[:-1], *(top + scores.log_normaliser for top in mean.info.kl[-1:])),
        gradient_norm_p=mean.gradient_norm_p,
        gradient_norm_q=mean.gradient_norm_q,
        learning_rate=scores.learning_rate,
        seconds=0.0,
        examples_per_second=0.0,
    )


def next_position(position: Position, best: Best, phase: Recipe) -> Position:
    """The next epoch of the phase, or the first of the next one where patience has run out."""
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
