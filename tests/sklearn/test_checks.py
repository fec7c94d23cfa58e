"""scikit-learn's own suite, whole: nothing is expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from wakesleep.sklearn import HelmholtzMachineDensity


@parametrize_with_checks([HelmholtzMachineDensity()])
def test_scikit_learn_s_own_checks(estimator, check):
    check(estimator)
