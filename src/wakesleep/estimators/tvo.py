"""The thermodynamic variational objective (Masrani, Le & Wood 2019)."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from wakesleep import importance
from wakesleep.estimators.base import Batch, Estimator, Part
from wakesleep.estimators.weighted import Coefficients, climb
from wakesleep.models.base import LatentModel
from wakesleep.options import Number, Whole


@dataclass(frozen=True, kw_only=True)
class TVO(Estimator):
    """Climbs a left Riemann sum of log p(x) = ∫₀¹ E_β[log ω] dβ, a lower bound of it.

    E_β is over π_β ∝ p(x, h)^β q(h | x)^(1−β), estimated by the K samples of q with weights
    proportional to ω^β. The gradient of a term (their eq. 10) is

        E_β[∂ log ω] + Cov_β(∂ log (p^β q^(1−β)), log ω)

    for p and q alike, the covariance with the factor K / (K − 1). One partition is the
    single-sample bound with `rloo`'s gradient; many partitions approach log p(x).

    Masrani, Le & Wood, "The thermodynamic variational objective" (NeurIPS 2019).

    Attributes:
        samples: K (the paper's S), the number of latents drawn per example, at least 2.
        partitions: terms of the sum (the paper's K); their β are 0, then from `beta_min` to 1
            with equal steps of log β, the last of which, 1, ends the last interval.
        beta_min: β₁, the least β above 0.
    """

    samples: Annotated[int, Whole(least=2)] = 5
    partitions: Annotated[int, Whole(least=1)] = 5
    beta_min: Annotated[float, Number(above=0, below=1)] = 0.025

    def scored(self, depth: int) -> int:
        """K."""
        del depth
        return self.samples

    def part(self, model: LatentModel, state: PyTree, batch: Batch, key: Key[Array, ""]) -> Part:
        """Gradients of minus the objective, averaged over the rows."""
        coefficients = partial(_coefficients, betas=self.betas())
        gradients, info = climb(model, batch, key, self.samples, coefficients)
        return Part(gradients, (), info)

    def betas(self) -> np.ndarray:
        """β₀ = 0, β₁, …, 1: the ends of the intervals.

        >>> TVO(partitions=3, beta_min=0.01).betas().tolist()
        [0.0, 0.01, 0.1, 1.0]
        """
        if self.partitions == 1:
            return np.array([0.0, 1.0])
        return np.concatenate([[0.0], np.geomspace(self.beta_min, 1.0, self.partitions)])


def _coefficients(log_weights: Float[Array, "B K"], *, betas: np.ndarray) -> Coefficients:
    samples = log_weights.shape[-1]
    beta, width = (jnp.asarray(each, log_weights.dtype) for each in (betas[:-1], np.diff(betas)))
    heated = importance.normalise(beta[:, None, None] * log_weights)
    excess = log_weights - (heated * log_weights).sum(-1, keepdims=True)
    covariance = heated * excess * samples / (samples - 1)
    p = heated + beta[:, None, None] * covariance
    # E_q[∂log q] is zero: at β = 0 an estimate of it would be noise alone.
    known = jnp.where(beta[:, None, None] == 0, 0.0, heated)
    q = (1 - beta)[:, None, None] * covariance - known
    return Coefficients(jnp.tensordot(width, p, 1), jnp.tensordot(width, q, 1))
