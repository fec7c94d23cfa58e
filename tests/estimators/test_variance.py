"""The variance of every estimator's q gradient beside Reweighted's: `pytest -s` prints it."""

import pytest

from tests.estimators.cases import CASES
from tests.estimators.sampling import walk
from tests.machines import small_machine

MACHINE = "sbn/sbn 2-3"


def spread(estimator, machine, key):
    """The sum over q's parameters of a step's variance, and the norm of the mean gradient.

    Steps in turn at parameters that stand still, once baselines have learnt and chains arrived.
    """
    _, _, q = walk(estimator, machine, key, 4000)
    return q[500:].var(0, ddof=1).sum(), (q[500:].mean(0) ** 2).sum() ** 0.5


@pytest.mark.parametrize("name", CASES)
def test_more_samples_mean_less_variance(name, key):
    machine = small_machine(MACHINE, scale=0.7)
    few, many = (spread(CASES[name](k), machine, key) for k in (4, 16))
    print(
        f"\n{name:22s} variance at K = 4: {few[0]:9.4f}  at 16: {many[0]:9.4f}"
        f"  norm of the mean at 16: {many[1]:.4f}"
    )
    assert 0 < many[0] < few[0]
