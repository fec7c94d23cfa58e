"""How log p̂(x) grows with the number of samples: what is left to gain where tails are heavy.

Where the weights' variance is not finite, or not reached by K samples, the textbook bias
−Var/2 sees only the weights that were met. What can be seen without any model of the tail is
how much log p̂ has gained over the last doublings of K. Under a tail of Pareto shape k the bias is
made by single weights as large as the whole sum, of which K samples have K^(1 − 1/k) on average:
every doubling gains r = 2^(1 − 1/k) of what the one before it did, and all doublings to come
r + r² + … = r / (1 − r) of what the last one did. At k = 1/2 that is the textbook's 1 / K.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

DOUBLINGS = 4
CHUNKS = 2**DOUBLINGS

SLOWEST_DECAY = 0.2
"""Pareto k above 5/6 is taken as 5/6: with r near 1 the gains to come have no end."""


class Growth:
    """Sums of weights over chunks of samples, so that log p̂ with K / 16 samples is known too.

    Every block that is fed is cut into 16 chunks; blocks of fewer samples than that are passed
    over, and then nothing can be said.
    """

    def __init__(self) -> None:
        self.sums: list[Values] = []
        self.size = 0

    def add(self, log_weights: npt.NDArray[Any]) -> None:
        """Take in a block of weights, `[E, K]`; one of another size than the first is left out."""
        size = log_weights.shape[1] // CHUNKS
        if size == 0 or (self.size and size != self.size):
            return
        self.size = size
        cut = log_weights[:, : size * CHUNKS].astype(np.float64)
        self.sums.append(_log_sums(cut.reshape(len(cut), CHUNKS, size)))

    def gains(self) -> Values | None:
        """What four doublings have gained, E log p̂_K − E log p̂_{K/16} ≥ 0, `[E]`."""
        if not self.sums:
            return None
        chunks = np.concatenate(self.sums, axis=1)
        groups = _log_sums(chunks.reshape(len(chunks), CHUNKS, -1))
        whole = _log_sums(groups) - np.log(CHUNKS)
        gains: Values = whole - groups.mean(axis=1)
        return np.maximum(gains, 0.0)


def gain_to_come(gains: Values, pareto_k: Values) -> Values:
    """What all further doublings would gain, given what the last four did."""
    ratio = 2.0 ** -np.clip(1 / np.maximum(pareto_k, 0.5) - 1, SLOWEST_DECAY, 1.0)
    of_last = gains / sum(ratio**-j for j in range(DOUBLINGS))
    to_come: Values = of_last * ratio / (1 - ratio)
    return to_come


def _log_sums(values: Values) -> Values:
    """log Σ exp over the last axis; SciPy's, which takes any kind of array, is ten times slower."""
    largest = values.max(axis=-1)
    sums: Values = largest + np.log(np.exp(values - largest[..., None]).sum(axis=-1))
    return sums
