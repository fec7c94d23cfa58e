"""Helmholtz machines as scikit-learn estimators."""

from wakesleep.compilation_cache import keep_compiled

# Before JAX is imported: who fits an estimator should not wait for compiling in every process.
keep_compiled()

from wakesleep.sklearn.density import HelmholtzMachineDensity  # noqa: E402

__all__ = ["HelmholtzMachineDensity"]
