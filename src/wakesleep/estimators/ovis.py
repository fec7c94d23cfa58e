"""The multi-sample bound with the asymptotically optimal control variate (Liévin et al. 2020)."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import jax
from jaxtyping import Array, Float, Key, PyTree

from wakesleep import importance
from wakesleep.estimators.base import Batch, Estimator, Part
from wakesleep.estimators.weighted import Coefficients, climb, others_log_sum
from wakesleep.models.base import LatentModel
from wakesleep.options import Number, Whole


@dataclass(frozen=True, kw_only=True)
class OVIS(Estimator):
    """Climbs E[log Ẑ], Ẑ = (1/K) Σ_k ω_k, with few false steps of q where K is large.

    - p: Σ_k ω̃_k ∂/∂θ log p(x, h_k)
    - q: Σ_k (log Ẑ − ω̃_k − c_k) ∂/∂φ log q(h_k | x),
      c_k = log Ẑ_−k − γ ω̃_k + (1 − γ) log(1 − 1/K)  (eq. 17)

    Ẑ_−k is the mean of the other weights. With γ = 0, made for one weight that has it all, the
    gradient is unbiased. With γ = 1, made for many weights that count, c_k takes the term −ω̃_k
    away: q's gradient is then that of the bound plus γ times wake-q's, Σ_k ω̃_k ∂log q.

    Liévin, Dittadi, Christensen & Winther, "Optimal variance control of the score-function
    gradient estimator for importance-weighted bounds" (NeurIPS 2020).

    Attributes:
        samples: K, the number of latents drawn per example, at least 2.
        gamma: γ, from 0 (few effective samples) to 1 (many).
    """

    samples: Annotated[int, Whole(least=2)] = 5
    gamma: Annotated[float | int, Number(most=1)] = 1.0

    def scored(self, depth: int) -> int:
        """K."""
        del depth
        return self.samples

    def part(self, model: LatentModel, state: PyTree, batch: Batch, key: Key[Array, ""]) -> Part:
        """Gradients of minus the multi-sample bound, averaged over the rows."""
        coefficients = partial(_coefficients, gamma=self.gamma)
        gradients, info = climb(model, batch, key, self.samples, coefficients)
        return Part(gradients, (), info)


def _coefficients(log_weights: Float[Array, "B K"], *, gamma: float | int) -> Coefficients:
    weights = importance.normalise(log_weights)
    total = jax.nn.logsumexp(log_weights, axis=-1, keepdims=True)
    # log Ẑ − log Ẑ_−k = −log(1 − ω̃_k) + log(1 − 1/K), of which (1 − γ) cancels the second part.
    surplus = total - others_log_sum(log_weights)
    constant = gamma * math.log1p(-1 / log_weights.shape[-1])
    return Coefficients(weights, surplus + constant - (1 - gamma) * weights)
