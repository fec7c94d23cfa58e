"""Where a training run stands: all that is needed to go on as if it had never stopped."""

import functools
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Key, PyTree

from wakesleep.data import Dataset, Table
from wakesleep.errors import UsageError
from wakesleep.estimators.base import check_normalises
from wakesleep.inference.rows import Decoder, decoder_of
from wakesleep.models.base import LatentModel
from wakesleep.options import SEED, check_option
from wakesleep.recipe import Recipe
from wakesleep.training.loop import Metrics, StepConfig, TrainState, zero_metrics
from wakesleep.training.optimisers import build_optimiser

ESTIMATOR_START = 2**31 - 1
"""Folded into the key from which estimators' states start: no epoch has this number."""


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
        state: parameters, averages, optimiser and estimator.
        best: the parameters that did best on the validation set.
        sums: metrics of the epoch under way.
    """

    state: TrainState
    best: LatentModel
    sums: Metrics


@dataclass(frozen=True)
class Snapshot:
    """A training run between two steps.

    Attributes:
        arrays: parameters and all else that is arrays.
        position: the place in the recipe.
        best: the best validation score so far.
        seconds: what it took by the clock on the wall.
        finished: whether the recipe is done.
        processor_seconds: what it took of the processors, compilation and validation included.
    """

    arrays: Arrays
    position: Position
    best: Best
    seconds: float
    finished: bool = False
    processor_seconds: float = 0.0


def training_key(seed: int) -> Key[Array, ""]:
    """The key that training folds its epochs into."""
    check_option("seed", seed, SEED)
    return jax.random.split(jax.random.key(seed))[0]


def validation_key(seed: int) -> Key[Array, ""]:
    """The key of all validation noise."""
    return jax.random.split(jax.random.key(seed))[1]


@functools.lru_cache(maxsize=8)
def step_config(phase: Recipe, decode: Decoder, mesh: Mesh | None = None) -> StepConfig:
    """How a phase takes a step; the same object each time, so that it is compiled once."""
    shares = phase.shares_among(mesh.size if mesh else 1)
    return StepConfig(decode, phase.estimator, build_optimiser(phase), shares, mesh)


def first_arrays(model: LatentModel, recipe: Recipe, rows: Table, seed: int) -> Arrays:
    """Where a recipe starts from with these parameters."""
    return phase_arrays(model, recipe.expand()[0], rows, seed)


def first_snapshot(model: LatentModel, data: Dataset, recipe: Recipe, seed: int) -> Snapshot:
    """Where a recipe starts from with these parameters."""
    return Snapshot(first_arrays(model, recipe, data.train, seed), Position(), Best(), seconds=0.0)


def phase_arrays(
    model: LatentModel, phase: Recipe, rows: Table, seed: int, number: int = 0
) -> Arrays:
    """Where a phase, the run's `number`-th, would start from with these parameters."""
    state = TrainState(
        model,
        model,
        start_optimiser(model, phase),
        jnp.zeros((), jnp.int32),
        start_estimator(model, phase, len(rows), seed, number),
    )
    return Arrays(state, model, empty_sums(model, rows))


def start_optimiser(model: LatentModel, phase: Recipe) -> PyTree:
    """Optax's state at a phase's start."""
    return build_optimiser(phase).init(model)


def start_estimator(model: LatentModel, phase: Recipe, rows: int, seed: int, number: int) -> PyTree:
    """The estimator's state at a phase's start."""
    check_normalises(phase.estimator, model)
    key = jax.random.fold_in(jax.random.fold_in(training_key(seed), ESTIMATOR_START), number)
    return phase.estimator.init(model, rows, key)


def next_phase_state(
    state: TrainState, phases: tuple[Recipe, Recipe], rows: Table, seed: int, after: Position
) -> TrainState:
    """The state at the start of the second phase, given that at the end of the first.

    The optimiser starts anew. The estimator's state is kept where the new phase's estimator is of
    the same kind and its state of the same shape.
    """
    before, following = phases
    fresh = start_estimator(state.model, following, len(rows), seed, after.phase)
    same_kind = type(before.estimator) is type(following.estimator)
    kept = same_kind and _shapes(fresh) == _shapes(state.estimator)
    return state._replace(
        optimiser=start_optimiser(state.model, following),
        estimator=state.estimator if kept else fresh,
    )


def check_resumes(snapshot: Snapshot, recipe: Recipe, rows: Table, seed: int) -> None:
    """Raise a `UsageError` for a recipe whose estimator remembers what the snapshot has not."""
    phases, number, state = recipe.expand(), snapshot.position.phase, snapshot.arrays.state
    if number == len(phases):
        return
    fresh = start_estimator(state.model, phases[number], len(rows), seed, number)
    if _shapes(fresh) != _shapes(state.estimator):
        raise UsageError(
            "the snapshot's estimator remembers arrays of other shapes than this recipe's (as its "
            "chains, or a note for every row): resume with the recipe and rows it was made with"
        )


def _shapes(tree: PyTree) -> tuple[object, list[tuple[object, object]]]:
    return jax.tree.structure(tree), [(a.shape, a.dtype) for a in jax.tree.leaves(tree)]


def empty_sums(model: LatentModel, rows: Table) -> Metrics:
    """Metrics of an epoch without a step."""
    stored = jax.tree.map(jnp.asarray, rows.epoch_rows(np.zeros(1, np.int32), 0, 0))
    return zero_metrics(model, decoder_of(rows)(stored))
