"""Gradient estimators. `ESTIMATORS` is the only registry: a new one is a file and a line here."""

from wakesleep.errors import UsageError
from wakesleep.estimators.base import Estimator, Info
from wakesleep.estimators.reweighted import Reweighted
from wakesleep.recipe import Recipe

ESTIMATORS: dict[str, type[Estimator]] = {"reweighted": Reweighted}
"""Every estimator a recipe can name."""


def estimator_for(phase: Recipe) -> Estimator:
    """The estimator a phase of training names."""
    if phase.estimator not in ESTIMATORS:
        valid = ", ".join(ESTIMATORS)
        raise UsageError(f"unknown estimator '{phase.estimator}'; valid: {valid}")
    return ESTIMATORS[phase.estimator].from_recipe(phase)


__all__ = ["ESTIMATORS", "Estimator", "Info", "Reweighted", "estimator_for"]
