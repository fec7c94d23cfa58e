"""A phase's optimiser and average as one native pass over the parameters."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from wakesleep.kernels.optimiser_step import Parameters, Rule, Scales, optimiser_step, serves
from wakesleep.models.base import LatentModel
from wakesleep.recipe import Recipe

ADAM = Rule(adam=True, first_decay=0.9, second_decay=0.999, epsilon=1e-8)
MOMENTUM = Rule(adam=False, first_decay=0.95)

Moving = tuple[LatentModel, LatentModel, Any]
"""Parameters, their averages, and the state of the Optax chain."""


class UpdateRule(NamedTuple):
    """What a compiled step knows of a phase's optimiser: phases that share it share the code.

    Attributes:
        adam: Adam, or the paper's damped momentum.
        gradient_scale: what gradients are multiplied by.
        weight_decay: decoupled, per unit of learning rate.
        clip: the largest global norm of the gradients; 0 for no limit.
        rate_p: the learning rate of p, relative to that of the step.
        rate_q: that of q.
    """

    adam: bool
    gradient_scale: float
    weight_decay: float
    clip: float
    rate_p: float
    rate_q: float

    @classmethod
    def of(cls, phase: Recipe) -> "UpdateRule":
        """A phase's."""
        adam = phase.optimiser == "adam"
        # The paper's rates are for gradients summed over the minibatch, ours are means.
        scale = 1.0 if adam else float(phase.batch_size)
        return cls(adam, scale, phase.weight_decay, phase.clip, phase.rate_p, phase.rate_q)


class OnePass(NamedTuple):
    """What the Optax chain of a rule does, and its state, which is the chain's own."""

    rule: UpdateRule

    def serves(self, moving: Moving, gradients: LatentModel) -> bool:
        """Whether the native kernels are in use and know the type of these arrays."""
        return serves(self._parameters(moving), jax.tree.leaves(gradients))

    def move(
        self,
        moving: Moving,
        gradients: LatentModel,
        rate: Float[Array, ""],
        weight: Float[Array, ""] | None,
    ) -> tuple[Moving, LatentModel]:
        """What a step leads to, and the sum of squares of each parameter's gradient.

        Args:
            moving: what the step changes.
            gradients: of the model's structure.
            rate: the step's learning rate.
            weight: of the new parameters in the averaged ones; None for no average.
        """
        model, _, state = moving
        place, structure = self._place(state), jax.tree.structure(model)
        moments = state[place]
        count = optax.safe_increment(moments.count)
        of_network = {True: self.rule.rate_p, False: self.rule.rate_q}
        rates = rate * jnp.array([of_network[p] for p in jax.tree.leaves(model.p_leaves())])
        after, squares = optimiser_step(
            ADAM if self.rule.adam else MOMENTUM,
            self._scales(gradients, count, weight),
            rates,
            self._parameters(moving),
            jax.tree.leaves(gradients),
        )
        values, averages, *trees = [jax.tree.unflatten(structure, kind) for kind in after if kind]
        named = zip(_MOMENTS[type(moments)], trees, strict=True)
        moments = moments._replace(count=count, **dict(named))
        moved = values, averages, (*state[:place], moments, *state[place + 1 :])
        return moved, jax.tree.unflatten(structure, list(squares))

    def _place(self, state: tuple[Any, ...]) -> int:
        return next(at for at, part in enumerate(state) if type(part) in _MOMENTS)

    def _parameters(self, moving: Moving) -> Parameters:
        model, average, state = moving
        moments = state[self._place(state)]
        names = _MOMENTS[type(moments)]
        trees = model, average, *(getattr(moments, name) for name in names)
        return Parameters(*map(jax.tree.leaves, trees))

    def _scales(
        self, gradients: LatentModel, count: Array, weight: Float[Array, ""] | None
    ) -> Scales:
        rule, decay = self.rule, ADAM if self.rule.adam else MOMENTUM
        scale: Array | float = rule.gradient_scale
        if rule.clip:
            norm = optax.tree.norm(gradients)
            scale = scale * jnp.where(norm < rule.clip, 1.0, rule.clip / norm)
        return Scales(
            scale,
            rule.weight_decay,
            1 / (1 - decay.first_decay**count),
            1 / (1 - decay.second_decay**count),
            1.0 if weight is None else weight,
        )


_MOMENTS = {optax.ScaleByAdamState: ("mu", "nu"), optax.EmaState: ("ema",)}
"""The moments in the state of a chain's one part that has any."""
