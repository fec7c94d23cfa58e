"""The log weights of one large pool of particles, from which rows are drawn."""

import jax
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Key

PLENTY = 4
"""Effective samples in a pool for each row that is drawn: then few are drawn twice."""


def systematic_choice(
    log_weights: npt.NDArray[np.float64], rows: int, key: Key[Array, ""]
) -> npt.NDArray[np.intp]:
    """The numbers of so many particles, evenly spaced by weight, in random order."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    weights = np.exp(log_weights - log_weights.max())
    cumulative = np.cumsum(weights) / weights.sum()
    places = np.searchsorted(cumulative, (rng.random() + np.arange(rows)) / rows)
    return rng.permutation(np.minimum(places, len(log_weights) - 1))


def effective_samples(log_weights: npt.NDArray[np.float64]) -> float:
    """(Σ w)² / Σ w²."""
    weights = np.exp(log_weights - log_weights.max())
    return float(weights.sum() ** 2 / np.square(weights).sum())


def log_mean(log_weights: npt.NDArray[np.float64]) -> float:
    """log (Σ w / N)."""
    return float(np.logaddexp.reduce(log_weights) - np.log(len(log_weights)))
