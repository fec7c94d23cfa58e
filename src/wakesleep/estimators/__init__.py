"""Gradient estimators. `ESTIMATORS` is the only registry: a new one is a file and a line here."""

from wakesleep.estimators.base import Estimator, Info
from wakesleep.estimators.reweighted import Reweighted

ESTIMATORS: dict[str, type[Estimator]] = {"reweighted": Reweighted}

__all__ = ["ESTIMATORS", "Estimator", "Info", "Reweighted"]
