"""Reweighted Wake-Sleep, the paper's Algorithm 1; classic wake-sleep is its K = 1 case."""

from dataclasses import dataclass
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key, PyTree

from wakesleep import importance
from wakesleep.estimators.base import Batch, Estimator, Info, Step, summarise
from wakesleep.estimators.weighted import sleep_objective
from wakesleep.models.base import Draw, LatentModel
from wakesleep.options import Number, Whole, check_declared


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

    def __post_init__(self) -> None:
        check_declared(self)

    def init(self, model: LatentModel, rows: int, key: Key[Array, ""]) -> PyTree:
        """Nothing: a step needs no memory of the ones before."""
        del model, rows, key
        return ()

    def step(self, model: LatentModel, state: PyTree, batch: Batch, key: Key[Array, ""]) -> Step:
        """Gradients of minus the weighted log-probabilities, averaged over the batch."""
        wake_key, sleep_key = jax.random.split(key)

        def surrogate(model: LatentModel) -> tuple[Float[Array, ""], Info]:
            drawn = model.draw(wake_key, batch.x, self.samples)
            objective = self._wake(drawn)
            if self.sleep_q:
                count = batch.rows.shape[0] * self.dreams
                # A mean: more dreams sharpen this gradient and do not outweigh wake-q's.
                objective += self.sleep_q * sleep_objective(model, sleep_key, count)
            return -objective, summarise(drawn)

        gradients, info = eqx.filter_grad(surrogate, has_aux=True)(model)
        return Step(gradients, state, info)

    def _wake(self, drawn: Draw) -> Float[Array, ""]:
        weights = importance.normalise(lax.stop_gradient(drawn.log_weights))
        objective = jnp.zeros(())
        if self.wake_p:
            objective += self.wake_p * (weights * drawn.log_p).sum(-1).mean()
        if self.wake_q:
            objective += self.wake_q * (weights * drawn.log_q).sum(-1).mean()
        return objective
