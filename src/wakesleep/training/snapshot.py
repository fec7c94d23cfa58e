"""Where a training run stands: all that is needed to go on as if it had never stopped."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp

from wakesleep.estimators.base import Info
from wakesleep.model import HelmholtzMachine
from wakesleep.recipe import Recipe
from wakesleep.training.loop import Metrics, TrainState
from wakesleep.training.optimisers import build_optimiser


@dataclass(frozen=True)
class Position:
    """A place in a recipe. Epochs count from 0 over the whole run, `phase_epoch` within a phase."""

    phase: int = 0
    phase_epoch: int = 0
    epoch: int = 0
    step: int = 0


@dataclass(frozen=True)
class Best:
    """The best validation log-likelihood so far and when it was seen; None before the first."""

    valid_ll: float | None = None
    epoch: int | None = None
    averaged: bool = False


class Arrays(eqx.Module):
    """The part of a snapshot that is arrays.

    Attributes:
        state: parameters, averages and optimiser.
        best: the parameters that did best on the validation set.
        sums: metrics of the epoch under way.
    """

    state: TrainState
    best: HelmholtzMachine
    sums: Metrics


@dataclass(frozen=True)
class Snapshot:
    """A training run between two steps."""

    arrays: Arrays
    position: Position
    best: Best
    seconds: float
    finished: bool = False


def first_arrays(model: HelmholtzMachine, phase: Recipe) -> Arrays:
    """Where a phase starts from with these parameters."""
    state = TrainState(model, model, build_optimiser(phase).init(model), jnp.zeros((), jnp.int32))
    return Arrays(state, model, zero_metrics(model))


def zero_metrics(model: HelmholtzMachine) -> Metrics:
    """Sums over no steps."""
    zero = jnp.zeros(())
    return Metrics(Info(zero, zero, zero, zero, (zero,) * len(model.q)), zero, zero)
