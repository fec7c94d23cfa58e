"""The compiled part of training: many steps in one call, no Python between them."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float, Int, Key, UInt8

from wakesleep.estimators import Estimator
from wakesleep.estimators.base import Info
from wakesleep.model import HelmholtzMachine


class TrainState(NamedTuple):
    """What the next step needs.

    Attributes:
        model: the raw parameters.
        average: their exponential moving average (the raw ones where a phase keeps none).
        optimiser: Optax's state.
        step: steps done in the whole run.
    """

    model: HelmholtzMachine
    average: HelmholtzMachine
    optimiser: Any
    step: Int[Array, ""]


class Metrics(NamedTuple):
    """Sums over steps of what a person plots."""

    info: Info
    gradient_norm_p: Float[Array, ""]
    gradient_norm_q: Float[Array, ""]


class Plan(NamedTuple):
    """How a phase takes a step: gradients, what is made of them, and the decay of the average."""

    estimator: Estimator
    optimiser: optax.GradientTransformationExtraArgs
    average: float | int


class Work(NamedTuple):
    """Minibatches for one call of the compiled loop.

    Attributes:
        rows: minibatches of packed bits.
        rates: the learning rate of each step.
        key: the epoch's randomness; step i uses it folded with `first + i`.
        first: the number within the epoch of the first step.
    """

    rows: UInt8[Array, "S B bytes"]
    rates: Float[Array, " S"]
    key: Key[Array, ""]
    first: Int[Array, ""]


class Outcome(NamedTuple):
    """What a call to `run_steps` gives; `done` is short of what was asked when a step failed."""

    state: TrainState
    sums: Metrics
    done: Int[Array, ""]
    failed: Array


def unpack(rows: UInt8[Array, "*batch bytes"], features: int) -> Float[Array, "*batch D"]:
    """Packed bytes, most significant bit first, to 0/1 in float32."""
    shifts = jnp.arange(7, -1, -1, dtype=jnp.uint8)
    bits = (rows[..., None] >> shifts) & 1
    return bits.reshape(*rows.shape[:-1], -1)[..., :features].astype(jnp.float32)


@eqx.filter_jit
def run_steps(state: TrainState, work: Work, count: Int[Array, ""], plan: Plan) -> Outcome:
    """Take the first `count` steps of the work, stopping early at a non-finite one.

    The number of steps is an argument of the compiled loop, so that an epoch's last, shorter
    call needs no compilation of its own, and a failed step can be reached again exactly.
    """

    def step(state: TrainState, i: Array) -> tuple[TrainState, Metrics]:
        gradients, info = gradients_at(state.model, work, i, plan)
        updates, moved = plan.optimiser.update(
            gradients, state.optimiser, state.model, learning_rate=work.rates[i]
        )
        model = optax.apply_updates(state.model, updates)
        averaged = _move_average(state, model, plan.average) if plan.average else model
        norms = optax.tree.norm(gradients.p), optax.tree.norm(gradients.q)
        return TrainState(model, averaged, moved, state.step + 1), Metrics(info, *norms)

    def body(carry: tuple[TrainState, Metrics, Array, Array]) -> tuple[Any, ...]:
        state, sums, i, _ = carry
        state, metrics = step(state, i)
        finite = jnp.isfinite(
            metrics.info.log_likelihood + metrics.gradient_norm_p + metrics.gradient_norm_q
        )
        sums = jax.tree.map(jnp.add, sums, metrics)
        return state, sums, i + 1, ~finite

    def unfinished(carry: tuple[TrainState, Metrics, Array, Array]) -> Array:
        _, _, i, failed = carry
        return (i < count) & ~failed

    zeros = jax.tree.map(
        lambda leaf: jnp.zeros(leaf.shape, leaf.dtype),
        eqx.filter_eval_shape(lambda s: step(s, jnp.zeros((), jnp.int32))[1], state),
    )
    start = (state, zeros, jnp.zeros((), jnp.int32), jnp.zeros((), bool))
    state, sums, done, failed = lax.while_loop(unfinished, body, start)
    return Outcome(state, sums, done, failed)


def gradients_at(
    model: HelmholtzMachine, work: Work, i: Int[Array, ""], plan: Plan
) -> tuple[HelmholtzMachine, Info]:
    """The estimator's gradients for minibatch i, with the randomness of its place in the run."""
    x = unpack(work.rows[i], model.features)
    return plan.estimator(model, x, jax.random.fold_in(work.key, work.first + i))


def _move_average(
    state: TrainState, model: HelmholtzMachine, decay: float | int
) -> HelmholtzMachine:
    """An exponential average whose memory grows with the run, so that the start is forgotten."""
    weight = jnp.maximum(1 - decay, 1 / (1 + 0.1 * state.step))
    return jax.tree.map(lambda a, m: a + weight * (m - a), state.average, model)
