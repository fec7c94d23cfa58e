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
        excesses = np.exp(largest[:, 1:] - largest[:, -1:]) - np.exp(
            largest[:, :1] - largest[:, -1:]
        )
        # The fit is scaled by the tail's lower quartile.
        usable = (excesses[:, _quartile(length)] > 0) & (excesses[:, 0] < excesses[:, -1])
        shapes = np.full(len(excesses), np.nan)
        rows = np.flatnonzero(usable)
        for part in np.array_split(rows, -(-len(rows) * length // _FIT_ELEMENTS) or 1):
            shapes[part] = _pareto_shape(excesses[part])
        return shapes


_FIT_ELEMENTS = 1 << 14  # tail weights fitted at once: each meets some fifty candidates


def _quartile(length: int) -> int:
    return int(length / 4 + 0.5) - 1


def _pareto_shape(excesses: Values) -> Values:
    """k of generalised Pareto tails, `[E, n]` in rising order, by Zhang and Stephens (2009).

    The profile likelihood over the one parameter θ that is left, averaged on a grid with their
    prior, then k given that θ; drawn to ½ with the strength of ten more values, as Vehtari et
    al. (2024) do.
    """
    n = excesses.shape[1]
    candidates = 30 + int(np.sqrt(n))
    spread = 1 - np.sqrt(candidates / (np.arange(candidates) + 0.5))
    theta = spread / (3 * excesses[:, _quartile(n), None]) + 1 / excesses[:, -1:]
    shapes = np.log1p(-theta[:, :, None] * excesses[:, None, :]).mean(axis=2)
    profile = n * (np.log(-theta / shapes) - shapes - 1)
    weights = np.exp(profile - profile.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    weights[weights < 10 * np.finfo(float).eps] = 0
    best = (weights * theta).sum(axis=1, keepdims=True) / weights.sum(axis=1, keepdims=True)
    shape = np.log1p(-best * excesses).mean(axis=1)
    return (n * shape + 10 * 0.5) / (n + 10)
