"""The multi-sample bound with leave-one-out baselines (Mnih & Rezende 2016)."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from wakesleep import importance
from wakesleep.estimators.base import Batch, Estimator, Part
from wakesleep.estimators.weighted import Coefficients, climb, others_log_sum, others_mean
from wakesleep.models.base import LatentModel
from wakesleep.options import Choice, Whole


@dataclass(frozen=True, kw_only=True)
class VIMCO(Estimator):
    """Climbs E[L̂], L̂ = log (1/K) Σ_k ω_k, by unbiased gradients.

    - p: Σ_k ω̃_k ∂/∂θ log p(x, h_k)
    - q: Σ_k (L̂ − L̂_−k − ω̃_k) ∂/∂φ log q(h_k | x)

    L̂_−k is L̂ with ω_k replaced by a mean of the others: what the bound would be, had h_k been
    like the rest.

    Mnih & Rezende, "Variational inference for Monte Carlo objectives" (ICML 2016).

    Attributes:
        samples: K, the number of latents drawn per example, at least 2.
        baseline: the mean that stands in for ω_k, geometric (the paper's choice) or arithmetic.
    """

    samples: Annotated[int, Whole(least=2)] = 5
    baseline: Annotated[str, Choice(("geometric", "arithmetic"))] = "geometric"

    def scored(self, depth: int) -> int:
        """K."""
        del depth
        return self.samples

    def part(self, model: LatentModel, state: PyTree, batch: Batch, key: Key[Array, ""]) -> Part:
        """Gradients of minus the multi-sample bound, averaged over the rows."""
        coefficients = partial(_coefficients, geometric=self.baseline == "geometric")
        gradients, info = climb(model, batch, key, self.samples, coefficients)
        return Part(gradients, (), info)


def _coefficients(log_weights: Float[Array, "B K"], *, geometric: bool) -> Coefficients:
    samples = log_weights.shape[-1]
    bound = importance.log_likelihood_estimate(log_weights)[..., None]
    others = others_log_sum(log_weights)
    if geometric:
        without = jnp.logaddexp(others, others_mean(log_weights)) - math.log(samples)
    else:
        without = others - math.log(samples - 1)
    weights = importance.normalise(log_weights)
    return Coefficients(weights, bound - without - weights)
