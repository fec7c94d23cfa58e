"""Numbers on a scale where they are more like a Gaussian: powers, by Yeo and Johnson (2000).

Incomes, concentrations and counts of people are skewed: what is linear in them at one end is not at
the other, and a Gaussian that is wide enough for the largest says nothing of the small ones.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""That are tried. From 0 to 2 the scale goes from one end of the line to the other."""
UNIT = 0.25
"""The share of the numbers that are less than one unit from the least."""
WORTH_IT = 0.02
"""Nats per number that a power must gain over none."""


class Power(NamedTuple):
    """With u = (x - start) / unit the scale is ((1 + u)^power - 1) / power, log (1 + u) for 0.

    Below the start it is the same mirrored, with 2 - power. A power of 1 changes nothing but the
    start and the unit.
    """

    start: float = 0.0
    unit: float = 1.0
    power: float = 1.0

    def to(self, x: Floats) -> Floats:
        """Numbers on this scale."""
        u = (x - self.start) / self.unit
        if self.power == 1:
            return np.asarray(u)
        high = _raised(np.maximum(u, 0.0), self.power)
        low = _raised(np.maximum(-u, 0.0), 2 - self.power)
        # NaN, which is a missing number, stays.
        return np.asarray(np.where(u < 0, -low, high))

    def back(self, y: Floats) -> Floats:
        """The numbers that `to` was given."""
        if self.power == 1:
            return np.asarray(self.start + self.unit * y)
        high = _root(np.maximum(y, 0.0), self.power)
        low = _root(np.maximum(-y, 0.0), 2 - self.power)
        return np.asarray(self.start + self.unit * np.where(y < 0, -low, high))

    def log_slope(self, x: Floats) -> Floats:
        """log of the derivative of `to`."""
        u = (x - self.start) / self.unit
        power = np.where(u < 0, 1 - self.power, self.power - 1)
        return np.asarray(power * np.log1p(np.abs(u)) - np.log(self.unit))


def is_power(power: Power) -> bool:
    """Whether its numbers make a scale of the whole line."""
    return bool(np.isfinite(power).all() and power.unit > 0 and 0 <= power.power <= 2)


def best_power(values: Floats) -> Power:
    """The power after which one Gaussian fits numbers best; NaN is missing."""
    x = values[~np.isnan(values)]
    start = float(x.min())
    unit = float(np.quantile(x, UNIT) - start)
    if not unit > 0:
        return Power()
    options = [Power(start, unit, power) for power in POWERS]
    scores = [_score(option, x) for option in options]
    best = int(np.argmax(scores))
    gain = scores[best] - scores[POWERS.index(1.0)]
    return options[best] if gain > WORTH_IT else Power()


def _score(power: Power, x: Floats) -> float:
    """Nats per number by a Gaussian on the scale, but for a constant."""
    return float(power.log_slope(x).mean() - np.log(max(power.to(x).std(), 1e-300)))


def _raised(u: Floats, power: float) -> Floats:
    return np.asarray(np.log1p(u) if power == 0 else np.expm1(power * np.log1p(u)) / power)


def _root(y: Floats, power: float) -> Floats:
    return np.asarray(np.expm1(y) if power == 0 else np.expm1(np.log1p(power * y) / power))
