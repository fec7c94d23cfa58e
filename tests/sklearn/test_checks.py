"""scikit-learn's own suite, whole: nothing is expected to fail."""

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from wakesleep.sklearn import HelmholtzMachineDensity

SMALL = {"architecture": "sbn/sbn 3", "max_iter": 2, "inference_samples": 5}


@parametrize_with_checks([HelmholtzMachineDensity(**SMALL)])
def test_scikit_learn_s_own_checks(estimator, check):
    check(estimator)


# Some of these fit to a data frame and transform a bare array, and the other way round, on purpose.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.filterwarnings("ignore:X has feature names, but:UserWarning")
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_global_output_transform_pandas,
        estimator_checks.check_param_validation,
        estimator_checks.check_set_output_transform,
        estimator_checks.check_set_output_transform_pandas,
        estimator_checks.check_transformer_get_feature_names_out,
        estimator_checks.check_transformer_get_feature_names_out_pandas,
    ],
    ids=lambda check: check.__name__,
)
def test_checks_that_scikit_learn_keeps_for_its_own_estimators(check):
    check("HelmholtzMachineDensity", HelmholtzMachineDensity(**SMALL))
