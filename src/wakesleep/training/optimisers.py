"""Optax transformations for a phase, with the learning rate given anew at every step.

The rate is an argument and not a schedule inside the optimiser's state, so that a resumed or
extended run takes it from its place in the recipe and from nothing else.
"""

from typing import Any

import jax
import optax
from jaxtyping import Array, Float

from wakesleep.models.base import LatentModel
from wakesleep.recipe import Recipe

MOMENTUM = 0.95


def build_optimiser(phase: Recipe) -> optax.GradientTransformationExtraArgs:
    """The optimiser of a phase; `update` takes the model and the step's `learning_rate`."""
    clip = [optax.clip_by_global_norm(phase.clip)] if phase.clip else []
    decay = [optax.add_decayed_weights(phase.weight_decay)] if phase.weight_decay else []
    rate = _scale_by_given_rate(phase)
    if phase.optimiser == "adam":
        return optax.chain(*clip, optax.scale_by_adam(), *decay, rate)
    # The paper's rates are for gradients summed over the minibatch, ours are means; and its
    # rate enters the momentum buffer with the gradient: d ← β d + (1 − β) · rate · Σ g.
    damped = optax.ema(MOMENTUM, debias=False)
    return optax.chain(*clip, optax.scale(float(phase.batch_size)), *decay, rate, damped)


def _scale_by_given_rate(phase: Recipe) -> optax.GradientTransformationExtraArgs:
    def init(params: Any) -> optax.EmptyState:
        del params
        return optax.EmptyState()

    def update(
        updates: LatentModel,
        state: optax.EmptyState,
        params: LatentModel,
        *,
        learning_rate: Float[Array, ""],
        **unused: Any,
    ) -> tuple[LatentModel, optax.EmptyState]:
        del unused
        rate_p, rate_q = learning_rate * phase.rate_p, learning_rate * phase.rate_q

        def scaled(is_p: bool, gradient: Array) -> Array:
            return -(rate_p if is_p else rate_q) * gradient

        return jax.tree.map(scaled, params.p_leaves(), updates), state

    return optax.GradientTransformationExtraArgs(init, update)
