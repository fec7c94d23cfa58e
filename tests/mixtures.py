"""A mixture small enough to list: with and without latents, in groups, in several orders."""

import jax
import numpy as np

from tests.oracle import every_row, mixture_log_likelihood, sharpen
from wakesleep import Mixture, build

SIZES = (2, 1, 3)
D = sum(SIZES)
ROWS = every_row(SIZES)


def components(*texts, masked=False, scale=0.8):
    keys = jax.random.split(jax.random.key(21), len(texts))
    return [
        sharpen(build(text, D, key=key, groups=SIZES, masked=masked), key, scale=scale)
        for text, key in zip(texts, keys, strict=True)
    ]


def small_mixture(*, masked=False):
    """A NADE and an AR-SBN in orders of their own, the first of them with latents."""
    parts = components("nade(order=2)/sbn 2", "ar_sbn(order=1)", masked=masked)
    return Mixture(parts, [0.4, -0.3])


MIXTURE = small_mixture()
LOG_P = mixture_log_likelihood(MIXTURE, ROWS, SIZES)
SEEN = np.repeat([False, True, False], SIZES)
"""One group of three is observed, and it is the first or the last of no order."""
