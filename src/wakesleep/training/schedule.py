"""The learning rate of every step of an epoch."""

import numpy as np

from wakesleep.recipe import Recipe


def learning_rates(phase: Recipe, phase_epoch: int, steps: int) -> np.ndarray:
    """From an epoch's place in its phase alone, `[steps]`."""
    done = (phase_epoch * steps + np.arange(steps)) / (phase.epochs * steps)
    cosine = 0.5 * (1 + np.cos(np.pi * done)) if phase.schedule == "cosine" else np.ones(steps)
    rate = phase.learning_rate * cosine / phase.rate_divisor**phase_epoch
    return rate.astype(np.float32)
