"""The normal distribution between two ends, with digits in its tails."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def log_normal_density(z: Floats) -> Floats:
    """log φ(z)."""
    return np.asarray(-0.5 * z**2 - 0.5 * np.log(2 * np.pi))


def log_normal_mass(low: Floats, high: Floats) -> Floats:
    """log (Φ(high) - Φ(low)), taken in the lower tail, where differences keep their digits."""
    from scipy.special import log_ndtr

    low, high = _lower_tail(low, high)
    upper = log_ndtr(high)
    apart = np.minimum(log_ndtr(low) - upper, 0.0)
    with np.errstate(divide="ignore"):
        mass = upper + np.log(-np.expm1(apart))
    # So narrow that the difference has no digits left: the density times the width.
    narrow = log_normal_density((low + high) / 2) + np.log(np.maximum(high - low, 1e-300))
    return np.where(high - low < 1e-6, narrow, mass)


def inverse_normal(low: Floats, high: Floats, share: Floats) -> Floats:
    """The point below which a share of the mass between two ends lies."""
    from scipy.special import log_ndtr, ndtri_exp

    mirrored = low + high > 0
    a, b = _lower_tail(low, high)
    part = np.where(mirrored, 1 - share, share)
    first, last = log_ndtr(a), log_ndtr(b)
    with np.errstate(divide="ignore"):
        goal = np.logaddexp(first + np.log1p(-part), last + np.log(part))
    z = np.clip(ndtri_exp(np.minimum(goal, -1e-300)), a, b)
    return np.where(mirrored, -z, z)


def _lower_tail(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The same interval, mirrored where more of it is above zero."""
    mirrored = low + high > 0
    return np.where(mirrored, -high, low), np.where(mirrored, -low, high)


def moments(values: Floats) -> tuple[Floats, Floats]:
    """Means and deviations of the columns; 1 for a deviation of 0."""
    # Squares of very large and very small numbers are none; a power of two changes no digit.
    size = np.ldexp(0.5, np.frexp(np.nanmax(np.abs(values), axis=0))[1])
    deviation = size * np.nanstd(values / size, axis=0)
    return size * np.nanmean(values / size, axis=0), np.where(deviation > 0, deviation, 1.0)
