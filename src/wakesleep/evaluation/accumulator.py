"""Running sums over importance weights, in float64 and flat memory."""

from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


class Accumulator:
    """Sums over the log weights of some examples, fed block after block.

    Powers of ω are summed relative to the largest weight seen so far, so that nothing
    overflows and the sums of 100,000 weights keep float64's digits.

    Attributes:
        count: K, the weights seen per example.
        largest: max_k log ω_k, `[E]`.
        sums: Σ_k ω_k / ω_max, `[E]`.
        squares: Σ_k (ω_k / ω_max)², `[E]`.
        fourths: Σ_k (ω_k / ω_max)⁴, `[E]`.
        logs: Σ_k log ω_k, `[E]`, or K times its mean over the samples of q.
    """

    def __init__(self, examples: int) -> None:
        self.count = 0
        self.largest = np.full(examples, -np.inf)
        self.sums = np.zeros(examples)
        self.squares = np.zeros(examples)
        self.fourths = np.zeros(examples)
        self.logs = np.zeros(examples)

    def add(self, log_weights: npt.NDArray[Any], bounds: npt.NDArray[Any] | None = None) -> None:
        """Take in more weights, `[E, K]`, and the mean of log ω over q's samples where not all are.

        Those are the `bounds`, `[E]`.
        """
        block = log_weights.astype(np.float64)
        largest = np.maximum(self.largest, block.max(axis=1))
        shrink = np.exp(self.largest - largest)
        weights = np.exp(block - largest[:, None])
        squares = np.square(weights)
        self.count += block.shape[1]
        self.sums = self.sums * shrink + weights.sum(axis=1)
        self.squares = self.squares * shrink**2 + squares.sum(axis=1)
        self.fourths = self.fourths * shrink**4 + np.square(squares).sum(axis=1)
        if bounds is None:
            self.logs += block.sum(axis=1)
        else:
            self.logs += bounds.astype(np.float64) * block.shape[1]
        self.largest = largest

    @property
    def log_likelihoods(self) -> Values:
        """log p̂(x) = log (1/K) Σ ω, eq. 1."""
        return self.largest + np.log(self.sums / self.count)

    @property
    def bounds(self) -> Values:
        """The single-sample variational bound, (1/K) Σ log ω."""
        return self.logs / self.count

    @property
    def effective_samples(self) -> Values:
        """(Σ ω)² / Σ ω²."""
        return self.sums**2 / self.squares

    @property
    def relative_variances(self) -> Values:
        """The estimated variance of p̂(x) / p(x); nan for K = 1, which cannot tell.

        The weights' sample variance over their squared mean is (K² / ESS − K) / (K − 1);
        a mean of K has one Kth of that.
        """
        if self.count == 1:
            return np.full_like(self.sums, np.nan)
        # Equal weights give an ESS of K up to rounding, on either side.
        excess = np.maximum(self.count / self.effective_samples - 1, 0)
        return excess / (self.count - 1)

    def cautious_variances(self, errors: float) -> Values:
        """`relative_variances` plus some standard errors of that estimate itself.

        It hangs on Σ ω², in effect a mean over (Σ ω²)² / Σ ω⁴ weights. Where a single one
        decides, its standard error is as large as itself.
        """
        deciding = self.squares**2 / self.fourths
        return self.relative_variances * (1 + errors / np.sqrt(deciding))
