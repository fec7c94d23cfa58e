"""Classic wake-sleep (Hinton, Dayan, Frey & Neal 1995)."""

from dataclasses import dataclass
from typing import Annotated

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key, PyTree

from wakesleep.estimators.base import Batch, Estimator, Info, Part, summarise
from wakesleep.estimators.weighted import example_like, sleep_objective
from wakesleep.models.base import LatentModel
from wakesleep.options import Whole


@dataclass(frozen=True, kw_only=True)
class WakeSleep(Estimator):
    """p learns from q's samples, q from p's dreams, and no sample weighs more than another.

    - wake: (1/K) Σ_k ∂/∂θ log p(x, h_k), the gradient of the bound E_q[log p − log q] for θ
    - sleep: ∂/∂φ log q(h | x) on dreams (x, h) ~ p

    With K = 1 it is `reweighted` without wake-q.

    Attributes:
        samples: K, the number of latents drawn per example.
        dreams: dreams per example of the minibatch.
    """

    samples: Annotated[int, Whole(least=1)] = 1
    dreams: Annotated[int, Whole(least=1)] = 1

    def init(self, model: LatentModel, rows: int, key: Key[Array, ""]) -> PyTree:
        """Nothing, for a model that can dream."""
        del rows, key
        example_like(model, "wake_sleep")
        return ()

    def scored(self, depth: int) -> int:
        """K, and the dreams."""
        del depth
        return self.samples + self.dreams

    def part(self, model: LatentModel, state: PyTree, batch: Batch, key: Key[Array, ""]) -> Part:
        """Gradients of minus the two log-probabilities, averaged over the rows."""
        wake_key, sleep_key = jax.random.split(key)

        def loss(model: LatentModel) -> tuple[Float[Array, ""], Info]:
            drawn = model.draw(wake_key, batch.x, self.samples)
            count = batch.rows.shape[0] * self.dreams
            objective = drawn.log_p.mean() + sleep_objective(model, sleep_key, count)
            return -objective, summarise(drawn)

        gradients, info = eqx.filter_grad(loss, has_aux=True)(model)
        return Part(gradients, (), info)
