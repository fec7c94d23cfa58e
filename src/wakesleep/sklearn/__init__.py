"""Helmholtz machines as scikit-learn estimators."""

from wakesleep.sklearn.density import HelmholtzMachineDensity

__all__ = ["HelmholtzMachineDensity"]
