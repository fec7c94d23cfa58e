"""What an evaluation finds: numbers per example, and the set's mean with its interval."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

Values = npt.NDArray[np.float64]

LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class LogLikelihood:
    """log p(x) of every example of a set, in nats, and how far it may be off.

    Attributes:
        values: log p̂(x), `[N]`.
        standard_errors: the Monte-Carlo standard error of each (delta method); nan for K = 1.
        biases: the estimated bias of each, never above 0: taking the logarithm of p̂ lowers
            its mean by half its relative variance, to leading order.
        bounds: the single-sample variational bound of each.
        effective_samples: (Σ ω)² / Σ ω² of each.
        samples: how many samples were drawn for each.
    """

    values: Values
    standard_errors: Values
    biases: Values
    bounds: Values
    effective_samples: Values
    samples: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        """The mean of log p̂(x) over the set: what the paper reports, with the sign changed."""
        return float(self.values.mean())

    @property
    def bound(self) -> float:
        """The mean of the single-sample variational bound."""
        return float(self.bounds.mean())

    @property
    def bias(self) -> float:
        """The estimated bias of the mean."""
        return float(self.biases.mean())

    @property
    def monte_carlo_error(self) -> float:
        """Half width of the 95% interval for the mean of log p(x) over these very examples.

        Noise and estimated bias are added: averaging over examples shrinks only the noise.
        """
        noise = np.sqrt(np.square(self.standard_errors).sum()) / len(self)
        return float(_normal_quantile() * noise - self.bias)

    @property
    def test_set_error(self) -> float:
        """Half width of the 95% interval for the mean over all data, were log p(x) exact.

        The spread of the values less their Monte-Carlo noise; nan for a single example.
        """
        if len(self) == 1:
            return float("nan")
        noise = np.square(self.standard_errors).mean()
        spread = max(self.values.var(ddof=1) - noise, 0.0)
        return float(_student_quantile(len(self) - 1) * np.sqrt(spread / len(self)))

    @property
    def confidence(self) -> float:
        """Half width of the 95% interval for the mean over all data, both errors together."""
        return float(np.hypot(self.test_set_error, self.monte_carlo_error))


def _student_quantile(degrees: int) -> float:
    return float(stdtrit(degrees, (1 + LEVEL) / 2))


def _normal_quantile() -> float:
    return float(stdtrit(np.inf, (1 + LEVEL) / 2))
