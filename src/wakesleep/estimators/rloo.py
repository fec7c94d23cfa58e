"""The score-function gradient of the bound with leave-one-out baselines."""

from dataclasses import dataclass
from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from wakesleep.estimators.base import Batch, Estimator, Part
from wakesleep.estimators.weighted import Coefficients, climb, others_mean
from wakesleep.models.base import LatentModel
from wakesleep.options import Whole


@dataclass(frozen=True, kw_only=True)
class RLOO(Estimator):
    """Climbs the bound E_q[log ω], ω = p(x, h) / q(h | x), by unbiased gradients.

    - p: (1/K) Σ_k ∂/∂θ log p(x, h_k)
    - q: (1/K) Σ_k (log ω_k − b_k) ∂/∂φ log q(h_k | x), b_k the mean of the others' log ω

    Kool, van Hoof & Welling, "Buy 4 REINFORCE samples, get a baseline for free!" (2019).

    Attributes:
        samples: K, the number of latents drawn per example, at least 2.
    """

    samples: Annotated[int, Whole(least=2)] = 5

    def scored(self, depth: int) -> int:
        """K."""
        del depth
        return self.samples

    def part(self, model: LatentModel, state: PyTree, batch: Batch, key: Key[Array, ""]) -> Part:
        """Gradients of minus the bound, averaged over the rows."""
        gradients, info = climb(model, batch, key, self.samples, _coefficients)
        return Part(gradients, (), info)


def _coefficients(log_weights: Float[Array, "B K"]) -> Coefficients:
    samples = log_weights.shape[-1]
    p = jnp.full_like(log_weights, 1 / samples)
    return Coefficients(p, (log_weights - others_mean(log_weights)) / samples)
