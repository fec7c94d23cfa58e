"""wakesleep itself: steps inside its compiled loop, evaluation by `ws.log_likelihood`."""

import jax
import numpy as np

import wakesleep as ws
from benchmarks.peers.cases import Case
from benchmarks.peers.problem import machine, random_bits
from benchmarks.steps import AS_DRAWN, Steps
from wakesleep.recipe import Recipe

MINIBATCHES = 200
FIRST_CALLS = 3
"""The state that a call gives back may be laid out otherwise than the first: JAX compiles anew."""


class Library:
    """As `ws.fit` runs it: Adam without averaging; the loop also sums metrics as it goes."""

    def __init__(self, case: Case):
        self.case = case
        self.model = machine(case.architecture)
        recipe = Recipe(
            batch_size=case.batch,
            estimator={**AS_DRAWN, "samples": case.samples},
            average=0.0,
            weight_decay=0.0,
        )
        if case.task == "step":
            rows = np.packbits(random_bits(MINIBATCHES, case.batch).astype(np.uint8), axis=-1)
            self.loop = Steps(self.model, recipe, rows)
            for _ in range(FIRST_CALLS):
                self.steps(1)
        self.data = random_bits(case.batch).astype(np.uint8)

    def steps(self, count: int) -> None:
        for start in range(0, count, MINIBATCHES):
            state = self.loop.run(min(MINIBATCHES, count - start))
            self.loop.state = jax.block_until_ready(state)
        if not np.isfinite(self.loop.state.model.p[0].bias).all():
            raise FloatingPointError(f"{self.case}: a step was not finite")

    def evaluate(self, count: int) -> None:
        for _ in range(count):
            ws.log_likelihood(self.model, self.data, self.case.samples, key=jax.random.key(3))
