"""The compiled part of training: many steps in one call, no Python between them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, Int, Key, PyTree

from wakesleep import shares
from wakesleep.estimators import Batch, Estimator, Info, Step, summarise
from wakesleep.inference.rows import Decoder
from wakesleep.models.base import LatentModel
from wakesleep.shares import Found, Split
from wakesleep.training.optimisers import Moving, Optimiser


class TrainState(NamedTuple):
    """What the next step needs.

    Attributes:
        model: the raw parameters.
        average: their exponential moving average (the raw ones where a phase keeps none).
        optimiser: Optax's state.
        step: steps done in the whole run.
        estimator: the estimator's own state.
    """

    model: LatentModel
    average: LatentModel
    optimiser: Any
    step: Int[Array, ""]
    estimator: PyTree


class Metrics(NamedTuple):
    """Sums over steps of what a person plots."""

    info: Info
    gradient_norm_p: Float[Array, ""]
    gradient_norm_q: Float[Array, ""]


class StepConfig(NamedTuple):
    """How a phase takes a step: rows to examples, examples to gradients, gradients to updates.

    Attributes:
        decode: stored rows to examples.
        estimator: examples to gradients.
        optimiser: gradients to parameters and their averages.
        shares: into how many each minibatch is cut.
        mesh: of the processes that take these; None for one process.
    """

    decode: Decoder
    estimator: Estimator
    optimiser: Optimiser
    shares: int = 1
    mesh: Mesh | None = None

    @property
    def split(self) -> Split:
        """How a minibatch is shared out."""
        return Split(self.shares, self.mesh.size if self.mesh else 1)


class StepInputs(NamedTuple):
    """What the steps of one call take in turn.

    Attributes:
        rows: minibatches as the table stores them, `[S, B, ...]`.
        numbers: the rows' numbers in the training set, `[S, B]`.
        rates: the learning rate of each step, `[S]`.
        key: the epoch's randomness; step i uses it folded with `first + i`.
        first: the number within the epoch of the first step.
    """

    rows: PyTree
    numbers: Int[Array, "S B"]
    rates: Float[Array, " S"]
    key: Key[Array, ""]
    first: Int[Array, ""]


class Outcome(NamedTuple):
    """What a call to `run_steps` gives; `done` is short of what was asked when a step failed."""

    state: TrainState
    sums: Metrics
    done: Int[Array, ""]
    failed: Array


@eqx.filter_jit
def run_steps(
    state: TrainState, inputs: StepInputs, count: Int[Array, ""], config: StepConfig
) -> Outcome:
    """Take the first `count` steps, stopping early at a non-finite one.

    The number of steps is an argument of the compiled loop, so that an epoch's last, shorter
    call needs no compilation of its own, and a failed step can be reached again exactly.
    """
    return _shared(_run_steps, state, inputs, count, config)


def _run_steps(
    state: TrainState, inputs: StepInputs, count: Int[Array, ""], config: StepConfig
) -> Outcome:
    def body(carry: tuple[TrainState, Metrics, Array, Array]) -> tuple[Any, ...]:
        state, sums, i, _ = carry
        state, metrics = _step(state, inputs, i, config)
        finite = jnp.isfinite(
            metrics.info.log_likelihood + metrics.gradient_norm_p + metrics.gradient_norm_q
        )
        sums = jax.tree.map(jnp.add, sums, metrics)
        return state, sums, i + 1, ~finite

    def unfinished(carry: tuple[TrainState, Metrics, Array, Array]) -> Array:
        _, _, i, failed = carry
        return (i < count) & ~failed

    zeros = zero_metrics(state.model, config.decode(jax.tree.map(lambda a: a[0], inputs.rows)))
    start = (state, zeros, jnp.zeros((), jnp.int32), jnp.zeros((), bool))
    state, sums, done, failed = lax.while_loop(unfinished, body, start)
    return Outcome(state, sums, done, failed)


@eqx.filter_jit
def gradients_at(
    state: TrainState, inputs: StepInputs, i: Int[Array, ""], config: StepConfig
) -> Step:
    """The estimator's step for minibatch i, with the randomness of its place in the run."""
    return _shared(_gradients_at, state, inputs, i, config)


def _gradients_at(
    state: TrainState, inputs: StepInputs, i: Int[Array, ""], config: StepConfig
) -> Step:
    rows, numbers = jax.tree.map(lambda leaf: leaf[i], (inputs.rows, inputs.numbers))
    key = jax.random.fold_in(inputs.key, inputs.first + i)

    def share(rows: tuple[PyTree, Array]) -> Found:
        batch = Batch(config.decode(rows[0]), rows[1])
        part = config.estimator.part(state.model, state.estimator, batch, key)
        return Found((part.gradients, part.info), (part.notes, batch.rows))

    found = shares.of_all(share, (rows, numbers), config.split)
    (gradients, info), (notes, numbers) = found
    following = config.estimator.remember(state.model, state.estimator, notes, numbers, key)
    return Step(gradients, following, info)


def _shared(
    function: Callable[..., Any],
    state: TrainState,
    inputs: StepInputs,
    number: Int[Array, ""],
    config: StepConfig,
) -> Any:
    """What a function gives; each process of the mesh runs it on its share of the rows."""
    if config.mesh is None:
        return function(state, inputs, number, config)
    mesh, static_result = config.mesh, list[Any]()
    arrays, static = eqx.partition((state, inputs, number), eqx.is_array)

    def own(arrays: Any) -> Any:
        result = function(*eqx.combine(arrays, static), config)
        result, rest = eqx.partition(result, eqx.is_array)
        static_result.append(rest)
        return result

    whole, rows = PartitionSpec(), PartitionSpec(None, shares.AXIS)
    every: Any = (rows, rows, whole, whole, whole)
    specs = (whole, StepInputs(*every), whole)
    result = jax.shard_map(own, mesh=mesh, in_specs=(specs,), out_specs=whole, check_vma=False)
    return eqx.combine(result(arrays), static_result[-1])


def zero_metrics(model: LatentModel, x: PyTree) -> Metrics:
    """Sums over no steps, for a model and examples like these."""
    shapes = eqx.filter_eval_shape(_one_info, model, x)
    zero = jnp.zeros(())
    return Metrics(jax.tree.map(lambda leaf: jnp.zeros_like(leaf), shapes), zero, zero)


@eqx.filter_jit
def _one_info(model: LatentModel, x: PyTree) -> Info:
    # Never run: JAX remembers the shapes of compiled functions, and traces others every time.
    return summarise(model.draw(jax.random.key(0), x, 1))


def _step(
    state: TrainState, inputs: StepInputs, i: Int[Array, ""], config: StepConfig
) -> tuple[TrainState, Metrics]:
    gradients, estimator, info = _gradients_at(state, inputs, i, config)
    moving = Moving(state.model, state.average, state.optimiser)
    moving, norms = config.optimiser.move(moving, gradients, inputs.rates[i], state.step)
    moved = TrainState(*moving, state.step + 1, estimator)
    return moved, Metrics(info, norms.p, norms.q)
