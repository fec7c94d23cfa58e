"""How far estimates from few samples are off: the bootstrap of Figs. 1B and 2A and the supplement.

Many *primary* samples per example stand for all of q(h | x). K of them drawn with
replacement are one run with K samples; many such runs show the bias and the spread of

- the p-gradient of eq. 3, Σ_k ω̃_k ∂/∂θ log p(x, h_k), averaged over the examples, and
- log p̂(x) of eq. 1,

relative to the estimates from all primary samples.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, Key

from wakesleep.data import MaskedBits
from wakesleep.errors import UsageError
from wakesleep.evaluation.primary_samples import (
    Primary,
    draw_primary,
    plain_gradient,
    resampled_deviation,
)
from wakesleep.inference.blocks import Progress
from wakesleep.inference.rows import checked_rows
from wakesleep.models import HelmholtzMachine, LatentModel
from wakesleep.numerics import log_mean_exp

Values = npt.NDArray[np.float64]

COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)


@dataclass(frozen=True, eq=False)
class BiasVariance:
    """Bias and standard deviation of estimates from K samples, for several K.

    Those of the gradient are L2 norms over all parameters of p, those of log p̂(x) are
    averages over the examples, in nats. All are relative to the estimates from all primary
    samples, and exclude the noise that a finite number of replicates adds.

    Attributes:
        counts: the Ks, `[C]`.
        gradient_norm: the L2 norm of the gradient from all primary samples.
        gradient_bias: ‖E ĝ_K − g‖, `[C]`.
        gradient_deviation: (E ‖ĝ_K − E ĝ_K‖²)^½, `[C]`.
        log_likelihood: the mean of log p̂(x) with K samples, `[C]` (Fig. 2A).
        log_likelihood_bias: the mean of E log p̂_K(x) − log p̂(x), `[C]`.
        log_likelihood_deviation: the root mean square over x of the deviation of log p̂_K(x),
            `[C]`.
        examples, primary, replicates: what all this is based on.
    """

    counts: npt.NDArray[np.int64]
    gradient_norm: float
    gradient_bias: Values
    gradient_deviation: Values
    log_likelihood: Values
    log_likelihood_bias: Values
    log_likelihood_deviation: Values
    examples: int
    primary: int
    replicates: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in vars(self).items()
        }


def bias_variance(
    model: LatentModel,
    data: Any,
    *,
    key: Key[Array, ""],
    counts: Sequence[int] = COUNTS,
    primary: int = 5_000,
    replicates: int = 100,
    progress: Progress | None = None,
) -> BiasVariance:
    """Bootstrap the p-gradient and log p̂(x).

    Args:
        model: a Helmholtz machine.
        data: `[N, D]` of 0 and 1; the paper takes one minibatch of 25.
        key: the randomness.
        counts: the Ks, none above `primary`.
        primary: samples per example that stand for all.
        replicates: resampled runs per K.
        progress: called with the work done and in all.
    """
    _check_options(counts, primary, replicates)
    if not isinstance(model, HelmholtzMachine):
        raise UsageError("bias_variance is for Helmholtz machines, which this model is not")
    if model.undirected is not None:
        raise UsageError("bias_variance is for machines whose top is directed, not an RBM")
    bits = checked_rows(model, data)
    if isinstance(bits, MaskedBits):
        raise UsageError("bias and variance are estimated on rows without missing cells alone")
    primary_key, resampling_key = jax.random.split(key)
    samples = draw_primary(model, jnp.asarray(bits[:], jnp.float32), primary, primary_key)
    reference = plain_gradient(model, samples)
    bootstrap = _Bootstrap(model, samples, reference, replicates, resampling_key)
    work = _Work(sum(counts) * replicates, progress)
    columns = [bootstrap.column(count, work) for count in counts]
    bias, deviation, values, value_bias, value_deviation = np.array(columns).T
    return BiasVariance(
        np.array(counts),
        float(jnp.linalg.norm(reference)),
        bias,
        deviation,
        values,
        value_bias,
        value_deviation,
        len(bits),
        primary,
        replicates,
    )


class _Work:
    def __init__(self, total: int, progress: Progress | None) -> None:
        self.done, self.total, self.progress = 0, total, progress

    def add(self, amount: int) -> None:
        self.done += amount
        if self.progress:
            self.progress(self.done, self.total)


class _Bootstrap(NamedTuple):
    """Runs with few of the primary samples, against the gradient from all of them."""

    model: HelmholtzMachine
    samples: Primary
    reference: Float[Array, " P"]
    replicates: int
    key: Key[Array, ""]

    def column(self, count: int, work: _Work) -> tuple[float, ...]:
        """The numbers of one K, in the order of `BiasVariance`."""
        total, squares, values = jnp.zeros_like(self.reference), [], []
        for deviation, log_p in self._runs(count):
            total += deviation
            squares.append(float(deviation @ deviation))
            values.append(np.asarray(log_p, np.float64))
            work.add(count)
        shift = total / self.replicates
        squared_shift, mean_square = float(shift @ shift), float(np.mean(squares))
        bias, spread = _without_noise(squared_shift, mean_square, self.replicates)
        log_p_full = np.asarray(log_mean_exp(self.samples.log_weights), np.float64)
        value_bias = float((np.mean(values, axis=0) - log_p_full).mean())
        value_spread = float(np.sqrt(np.var(values, axis=0, ddof=1).mean()))
        return bias, spread, float(np.mean(values)), value_bias, value_spread

    def _runs(self, count: int) -> Iterator[tuple[Float[Array, " P"], Float[Array, " N"]]]:
        """What each run with K samples gives."""
        key = jax.random.fold_in(self.key, count)
        for replicate in range(self.replicates):
            run_key = jax.random.fold_in(key, replicate)
            yield resampled_deviation(self.model, self.samples, self.reference, count, run_key)


def _without_noise(
    squared_shift: float, mean_square: float, replicates: int
) -> tuple[float, float]:
    """Bias and deviation from ‖mean deviation‖² and the mean of ‖deviation‖² over R runs.

    A mean over R runs is off by a variance / R of its own, which would pass for bias.
    """
    variance = (mean_square - squared_shift) * replicates / (replicates - 1)
    bias = max(squared_shift - variance / replicates, 0.0)
    return float(np.sqrt(bias)), float(np.sqrt(variance))


def _check_options(counts: Sequence[int], primary: int, replicates: int) -> None:
    if not counts or min(counts) < 1 or max(counts) > primary:
        raise UsageError(f"counts must be numbers of samples from 1 to {primary}")
    if replicates < 2:
        raise UsageError(f"replicates is {replicates}, but it must be at least 2")
