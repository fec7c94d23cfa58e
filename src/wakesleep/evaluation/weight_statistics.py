"""All that is kept of the weights of some examples while their samples come in, block by block."""

from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.evaluation.accumulator import Accumulator
from wakesleep.evaluation.growth import Growth, Values, gain_to_come
from wakesleep.evaluation.records import RECORD, Records
from wakesleep.evaluation.tail import UNRELIABLE, Tail

FEW_COUNT = 0.02
"""Where more than this share of the samples count, a large Pareto k is a fit to a few states."""


class WeightStatistics:
    """Running sums, the largest weights, and the growth of log p̂ with K."""

    def __init__(self, examples: int, samples: int) -> None:
        self.sums = Accumulator(examples)
        self.tail = Tail(examples, samples)
        self.growth = Growth()

    @property
    def count(self) -> int:
        """K so far."""
        return self.sums.count

    def add(self, log_weights: npt.NDArray[Any], bounds: npt.NDArray[Any] | None = None) -> None:
        """Take in more weights, `[E, K]`; `bounds` as in `Accumulator.add`."""
        self.sums.add(log_weights, bounds)
        self.tail.add(log_weights)
        self.growth.add(log_weights)

    def within(self, tolerance: float) -> bool:
        """Whether standard error and bias are below the tolerance, and can be believed to be.

        Both come from the variance estimate plus two standard errors of its own, and count only
        where the weights' tail is light enough (Pareto k) for a variance to mean anything.
        """
        variances = self.sums.cautious_variances(2.0)
        small = (np.sqrt(variances) <= tolerance) & (variances / 2 <= tolerance)
        return bool(small.all() and not (self.tail.pareto_k() > UNRELIABLE).any())

    @property
    def hopeless(self) -> npt.NDArray[np.bool_]:
        """Which examples have a heavy tail, and hardly any sample that counts."""
        return self._hopeless(self.tail.pareto_k())

    def records(self) -> Records:
        """One line per example."""
        records = np.empty(len(self.sums.sums), RECORD)
        variances, pareto_k = self.sums.relative_variances, self.tail.pareto_k()
        records["value"] = self.sums.log_likelihoods
        # The variance is estimated low more often than high; half of its own error makes up for it.
        records["standard_error"] = np.sqrt(self.sums.cautious_variances(0.5))
        records["bias"] = -self._missing(variances / 2, pareto_k)
        records["bound"] = self.sums.bounds
        records["effective_samples"] = self.sums.effective_samples
        records["pareto_k"] = pareto_k
        records["samples"] = self.count
        records["runs"] = 0
        return records

    def _missing(self, plain: Values, pareto_k: Values) -> Values:
        """How much log p̂ is low by: half the variance, or more where a heavy tail says so."""
        gains = self.growth.gains()
        if gains is None:
            return plain
        to_come = np.maximum(plain, gain_to_come(gains, pareto_k))
        return np.where(self._hopeless(pareto_k), to_come, plain)

    def _hopeless(self, pareto_k: Values) -> npt.NDArray[np.bool_]:
        few = self.sums.effective_samples < FEW_COUNT * self.count
        return (pareto_k > UNRELIABLE) & few
