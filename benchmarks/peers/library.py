"""wakesleep itself: steps inside its compiled loop, evaluation by `ws.log_likelihood`."""

import jax
import jax.numpy as jnp
import numpy as np

import wakesleep as ws
from benchmarks.peers.cases import Case
from benchmarks.peers.problem import machine, random_bits
from wakesleep.recipe import Recipe
from wakesleep.training.loop import Work, run_steps
from wakesleep.training.session import build_plan
from wakesleep.training.snapshot import first_arrays

MINIBATCHES = 200
LEARNING_RATE = 1e-4
FIRST_CALLS = 3
"""The state that a call gives back may be laid out otherwise than the first: JAX compiles anew."""


class Library:
    """As `ws.fit` runs it: Adam without averaging; the loop also sums metrics as it goes."""

    def __init__(self, case: Case):
        self.case = case
        self.model = machine(case.architecture)
        self.recipe = Recipe(
            batch_size=case.batch, samples=case.samples, average=0.0, weight_decay=0.0
        )
        self.state = first_arrays(self.model, self.recipe).state
        if case.task == "step":
            rows = np.packbits(random_bits(MINIBATCHES, case.batch).astype(np.uint8), axis=-1)
            rates = jnp.full(MINIBATCHES, LEARNING_RATE)
            self.work = Work(jnp.asarray(rows), rates, jax.random.key(1), jnp.asarray(0))
            for _ in range(FIRST_CALLS):
                self.steps(1)
        self.data = random_bits(case.batch).astype(np.uint8)

    def steps(self, count: int) -> None:
        plan = build_plan(self.recipe)
        for start in range(0, count, MINIBATCHES):
            take = jnp.asarray(min(MINIBATCHES, count - start))
            outcome = run_steps(self.state, self.work, take, plan)
            self.state = jax.block_until_ready(outcome.state)
        if bool(outcome.failed):
            raise FloatingPointError(f"{self.case}: a step was not finite")

    def evaluate(self, count: int) -> None:
        for _ in range(count):
            ws.log_likelihood(self.model, self.data, self.case.samples, key=jax.random.key(3))
