"""How parameters move, with the learning rate given anew at every step.

The rate is an argument and not a schedule inside the optimiser's state, so that a resumed or
extended run takes it from its place in the recipe and from nothing else.
"""

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from wakesleep.kernels import native
from wakesleep.layers import ARSBN
from wakesleep.models.base import LatentModel, by_network
from wakesleep.recipe import Recipe
from wakesleep.training.one_pass import ADAM, MOMENTUM, OnePass, UpdateRule


class Moving(NamedTuple):
    """What a step changes.

    Attributes:
        model: the raw parameters.
        average: their exponential moving average; the raw ones where none is kept.
        state: the Optax transformation's.
    """

    model: LatentModel
    average: LatentModel
    state: Any


class GradientNorms(NamedTuple):
    """Of p's and of q's gradient."""

    p: Float[Array, ""]
    q: Float[Array, ""]


class Optimiser(NamedTuple):
    """An Optax transformation that takes a `learning_rate`, and the average of where it leads.

    Attributes:
        transformation: gradients to updates.
        average: the decay per step of the averaged parameters; 0 for none.
        sparsity: the L1 penalty on autoregressive weights, per unit of learning rate; 0 for none.
        native: the same and the average as one pass over the parameters, for the CPU; None for
            a transformation that has no such twin.
    """

    transformation: optax.GradientTransformationExtraArgs
    average: float | int
    sparsity: float | int = 0
    native: OnePass | None = None

    def init(self, model: LatentModel) -> Any:
        """The state before the first step."""
        return self.transformation.init(eqx.filter(model, eqx.is_inexact_array))

    def move(
        self,
        moving: Moving,
        gradients: LatentModel,
        learning_rate: Float[Array, ""],
        step: Int[Array, ""],
    ) -> tuple[Moving, GradientNorms]:
        """Where the run's step number `step` leads, and how long the gradients were."""
        before = moving.model
        if self.sparsity:
            before = soft_thresholded(before, self.sparsity * learning_rate)
        model, rest = eqx.partition(before, eqx.is_inexact_array)
        average = eqx.filter(moving.average, eqx.is_inexact_array)
        # An exponential average whose memory grows with the run, so that the start is forgotten.
        weight = jnp.maximum(1 - self.average, 1 / (1 + 0.1 * step)) if self.average else None
        operands = Moving(model, average, moving.state), gradients, learning_rate, weight
        if self.native and self.native.serves(*operands[:2]):
            moved, norms = native.on_cpu(self._in_one_pass, self._by_optax, *operands)
        else:
            moved, norms = self._by_optax(*operands)
        model, average = eqx.combine(moved.model, rest), eqx.combine(moved.average, rest)
        return Moving(model, average, moved.state), norms

    def _by_optax(
        self, moving: Moving, gradients: LatentModel, rate: Array, weight: Array | None
    ) -> tuple[Moving, GradientNorms]:
        updates, state = self.transformation.update(
            gradients, moving.state, moving.model, learning_rate=rate
        )
        model = average = eqx.apply_updates(moving.model, updates)
        if weight is not None:
            average = jax.tree.map(lambda a, raw: a + weight * (raw - a), moving.average, model)
        norms = map(optax.tree.norm, by_network(moving.model, gradients))
        return Moving(model, average, state), GradientNorms(*norms)

    def _in_one_pass(
        self, moving: Moving, gradients: LatentModel, rate: Array, weight: Array | None
    ) -> tuple[Moving, GradientNorms]:
        assert self.native is not None
        moved, squares = self.native.move(moving, gradients, rate, weight)
        p, q = by_network(moving.model, squares)
        norms = (jnp.sqrt(sum(jax.tree.leaves(part), start=jnp.zeros(()))) for part in (p, q))
        return Moving(*moved), GradientNorms(*norms)


def build_optimiser(phase: Recipe) -> Optimiser:
    """The optimiser of a phase; the same object for phases that differ in nothing it knows of."""
    return _optimiser(UpdateRule.of(phase), phase.average, phase.sparsity)


def soft_thresholded(model: LatentModel, threshold: Float[Array, ""] | float) -> LatentModel:
    """With autoregressive weights drawn to zero by so much, and no further: the L1 penalty's step.

    >>> import jax, wakesleep as ws
    >>> model = ws.build("ar_sbn", features=3, key=jax.random.key(0))
    >>> float(abs(soft_thresholded(model, 10.0).p[0].S).max())
    0.0
    """

    def shrink(layer: Any) -> Any:
        if not isinstance(layer, ARSBN):
            return layer
        S = jnp.sign(layer.S) * jnp.maximum(jnp.abs(layer.S) - threshold, 0)
        return eqx.tree_at(lambda each: each.S, layer, S)

    return jax.tree.map(shrink, model, is_leaf=lambda node: isinstance(node, ARSBN))


@functools.lru_cache(maxsize=32)
def _optimiser(rule: UpdateRule, average: float | int, sparsity: float | int) -> Optimiser:
    clip = [optax.clip_by_global_norm(rule.clip)] if rule.clip else []
    decay = [optax.add_decayed_weights(rule.weight_decay)] if rule.weight_decay else []
    rate = _scale_by_given_rate(rule)
    if rule.adam:
        adam = optax.scale_by_adam(ADAM.first_decay, ADAM.second_decay, ADAM.epsilon)
        chain = optax.chain(*clip, adam, *decay, rate)
    else:
        # The paper's rate enters the momentum buffer with the gradient:
        # d ← β d + (1 − β) · rate · Σ g.
        damped = optax.ema(MOMENTUM.first_decay, debias=False)
        chain = optax.chain(*clip, optax.scale(rule.gradient_scale), *decay, rate, damped)
    return Optimiser(chain, average, sparsity, OnePass(rule))


def _scale_by_given_rate(rule: UpdateRule) -> optax.GradientTransformationExtraArgs:
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
        rate_p, rate_q = learning_rate * rule.rate_p, learning_rate * rule.rate_q

        def scaled(is_p: bool, gradient: Array) -> Array:
            return -(rate_p if is_p else rate_q) * gradient

        return jax.tree.map(scaled, params.p_leaves(), updates), state

    return optax.GradientTransformationExtraArgs(init, update)
