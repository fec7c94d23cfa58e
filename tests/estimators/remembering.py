"""An estimator that only the tests know: a trainable baseline, and a memory for every row.

The score-function gradient of the variational bound for q, whose learning signal is lowered by a
linear baseline of the row (trained by an Adam of its own) and by the row's usual signal.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax

from wakesleep.estimators import ESTIMATORS, Estimator, summarise
from wakesleep.estimators.base import Part
from wakesleep.options import Fraction, Number, Whole

NAME = "remembering"


class State(NamedTuple):
    baseline: dict
    optimiser: optax.OptState
    memory: jax.Array
    steps: jax.Array


@dataclass(frozen=True, kw_only=True)
class Remembering(Estimator):
    samples: Annotated[int, Whole(least=1)] = 5
    rate: Annotated[float, Number(above=0)] = 1e-2
    forget: Annotated[float, Fraction()] = 0.9

    def init(self, model, rows, key):
        weights = 1e-3 * jax.random.normal(key, (model.features,))
        baseline = {"w": weights, "c": jnp.zeros(())}
        optimiser = optax.adam(self.rate).init(baseline)
        return State(baseline, optimiser, jnp.zeros(rows), jnp.zeros((), jnp.int32))

    def scored(self, depth):
        return self.samples

    def part(self, model, state, batch, key):
        remembered = state.memory[batch.rows]

        def surrogate(model):
            drawn = model.draw(key, batch.x, self.samples)
            signal = lax.stop_gradient(drawn.log_weights)
            guess = batch.x @ state.baseline["w"] + state.baseline["c"] + remembered
            learning = (signal - guess[:, None]) * drawn.log_q
            return -(drawn.log_p + learning).mean(), (signal.mean(-1), summarise(drawn))

        gradients, (signal, info) = eqx.filter_grad(surrogate, has_aux=True)(model)
        return Part(gradients, (batch.x, signal), info)

    def remember(self, model, state, notes, rows, key):
        x, signal = notes
        remembered = state.memory[rows]

        def error(baseline):
            return jnp.square(signal - remembered - x @ baseline["w"] - baseline["c"]).mean()

        slope = jax.grad(error)(state.baseline)
        updates, optimiser = optax.adam(self.rate).update(slope, state.optimiser)
        baseline = optax.apply_updates(state.baseline, updates)
        rest = signal - x @ baseline["w"] - baseline["c"]
        memory = state.memory.at[rows].set(self.forget * remembered + (1 - self.forget) * rest)
        return State(baseline, optimiser, memory, state.steps + 1)


ESTIMATORS[NAME] = Remembering
