"""Reweighted Wake-Sleep, the paper's Algorithm 1; classic wake-sleep is its K = 1 case."""

from dataclasses import dataclass
from typing import Annotated

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key, PyTree

from wakesleep.estimators.base import Batch, Estimator, Info, Step, summarise
from wakesleep.estimators.weighted import sleep_objective, wake_objective
from wakesleep.models.base import LatentModel
from wakesleep.options import Number, Whole


@dataclass(frozen=True, kw_only=True)
class Reweighted(Estimator):
    """Three maximum-likelihood updates with weighted samples, each with a weight of its own.

    - wake-p (eq. 3): Σ_k ω̃_k ∂/∂θ log p(x, h_k)
    - wake-q (eq. 4): Σ_k ω̃_k ∂/∂φ log q(h_k | x)
    - sleep-q (eq. 5): ∂/∂φ log q(h | x) on dreams (x, h) ~ p

    The weights ω̃ and the samples are constants of the gradient. A weight of zero switches an
    update off and its work with it; all three of q's may be off (the paper's control).

    Attributes:
        samples: K, the number of latents drawn per example; 1 for classic wake-sleep.
        wake_p: weight of the wake update of p.
        wake_q: weight of the wake update of q; 0 for classic wake-sleep.
        sleep_q: weight of the sleep update of q.
        dreams: dreams per example of the minibatch.
    """

    samples: Annotated[int, Whole(least=1)] = 5
    wake_p: Annotated[float | int, Number()] = 1.0
    wake_q: Annotated[float | int, Number()] = 1.0
    sleep_q: Annotated[float | int, Number()] = 1.0
    dreams: Annotated[int, Whole(least=1)] = 1

    def scored(self, depth: int) -> int:
        """K, and the dreams."""
        del depth
        return self.samples + (self.dreams if self.sleep_q else 0)

    def step(self, model: LatentModel, state: PyTree, batch: Batch, key: Key[Array, ""]) -> Step:
        """Gradients of minus the weighted log-probabilities, averaged over the batch."""
        wake_key, sleep_key = jax.random.split(key)

        def surrogate(model: LatentModel) -> tuple[Float[Array, ""], Info]:
            drawn = model.draw(wake_key, batch.x, self.samples)
            objective = wake_objective(drawn, drawn.log_weights, self.wake_p, self.wake_q)
            if self.sleep_q:
                count = batch.rows.shape[0] * self.dreams
                # A mean: more dreams sharpen this gradient and do not outweigh wake-q's.
                objective += self.sleep_q * sleep_objective(model, sleep_key, count)
            return -objective, summarise(drawn)

        gradients, info = eqx.filter_grad(surrogate, has_aux=True)(model)
        return Step(gradients, state, info)
