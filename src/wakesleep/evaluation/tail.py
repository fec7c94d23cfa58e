"""The largest weights of each example, and the Pareto shape of their tail."""

from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

UNRELIABLE = 0.7
"""Above this Pareto k an importance-sampling estimate cannot be trusted (Vehtari et al. 2024)."""

SMALLEST_TAIL = 5


def tail_length(samples: int) -> int:
    """How many of K weights are the tail: min(K/5, 3√K), as in Vehtari et al. (2024)."""
    return samples // 5 if samples <= 225 else int(3 * np.sqrt(samples))


class Tail:
    """The largest weights among those seen so far: all that Pareto k needs, in flat memory.

    Attributes:
        count: K, the weights seen per example.
        kept: the largest log weights, `[E, M]` in no order: the tail and the cutoff below it.
    """

    def __init__(self, examples: int, samples: int) -> None:
        self.count = 0
        self.kept = np.empty((examples, 0))
        self._room = tail_length(samples) + 1

    def add(self, log_weights: npt.NDArray[Any]) -> None:
        """Take in more weights, `[E, K]`."""
        self.count += log_weights.shape[1]
        together = np.concatenate([self.kept, log_weights.astype(np.float64)], axis=1)
        surplus = together.shape[1] - self._room
        self.kept = together if surplus <= 0 else np.partition(together, surplus)[:, surplus:]

    def pareto_k(self) -> Values:
        """The shape k of a generalised Pareto distribution fitted to each example's tail.

        nan where there is none to fit: below 25 samples, and where the largest weights are a
        few values many times over, as with a handful of latent bits.
        """
        length = tail_length(self.count)
        if length < SMALLEST_TAIL:
            return np.full(len(self.kept), np.nan)
        largest = np.sort(self.kept)[:, -length - 1 :]
        return np.array([_fit(row) for row in largest])


def _fit(largest: Values) -> float:
    """k of one example, from its cutoff and tail in rising order."""
    # The import takes a second, and many calls never come here.
    from arviz_stats.base.array import array_stats

    excess = np.exp(largest[1:] - largest[-1]) - np.exp(largest[0] - largest[-1])
    # The fit is scaled by the tail's lower quartile.
    if excess[int(len(excess) / 4 + 0.5) - 1] <= 0 or excess[0] == excess[-1]:
        return float("nan")
    # ArviZ's public `psislw` wants all K weights to find the tail that is already here.
    k, _ = array_stats._gpdfit(excess)
    return float(k)
