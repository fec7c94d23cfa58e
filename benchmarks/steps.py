"""Training steps of this library inside its compiled loop, as the benchmarks time them."""

import jax
import jax.numpy as jnp
import numpy as np

from wakesleep.data import PackedBits
from wakesleep.inference.rows import UnpackBits
from wakesleep.models import HelmholtzMachine
from wakesleep.recipe import Recipe
from wakesleep.training.loop import StepInputs, TrainState, run_steps
from wakesleep.training.snapshot import first_arrays, step_config

LEARNING_RATE = 1e-4

AS_DRAWN = {"name": "reweighted", "combine": False}
"""The paper's updates, which the peers take too: samples count as they were drawn together."""


class Steps:
    """Some minibatches `[S, B, bytes]` of packed rows, taken over and over."""

    def __init__(self, model: HelmholtzMachine, recipe: Recipe, rows: np.ndarray):
        data = PackedBits(np.asarray(rows[0], np.uint8), model.features)
        self.config = step_config(recipe, UnpackBits(model.features))
        self.state: TrainState = first_arrays(model, recipe, data, seed=0).state
        self.inputs = StepInputs(
            jnp.asarray(rows, jnp.uint8),
            jnp.zeros(rows.shape[:2], jnp.int32),
            jnp.full(len(rows), LEARNING_RATE),
            jax.random.key(1),
            jnp.asarray(0),
        )

    def run(self, count: int) -> TrainState:
        """Where `count` steps from the start lead."""
        return run_steps(self.state, self.inputs, jnp.asarray(count), self.config).state
