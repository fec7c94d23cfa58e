"""What the estimators share, against float64 sums that leave one out."""

import jax.numpy as jnp
import numpy as np
import pytest

from wakesleep.estimators.weighted import others_log_sum, others_mean

CASES = {
    "alike": [[-90.0, -90.5, -91.0, -89.0]],
    "two": [[-3.0, 4.0]],
    "one has it all": [[-1000.0, 0.0, -2000.0]],
    "equal": [[-700.0, -700.0, -700.0]],
    "far from zero": [[-30000.0, -30001.0, -30002.0]],
    "rows": [[0.0, 1.0, 2.0], [50.0, -50.0, 0.0]],
}


def leave_one_out(values, reduce):
    values = np.asarray(values, np.float64)
    columns = [reduce(np.delete(values, k, axis=-1)) for k in range(values.shape[-1])]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_the_mean_of_the_others(values):
    exact = leave_one_out(values, lambda rest: rest.mean(-1))
    np.testing.assert_allclose(others_mean(jnp.asarray(values)), exact, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_the_log_sum_of_the_others(values):
    exact = leave_one_out(values, lambda rest: np.logaddexp.reduce(rest, axis=-1))
    np.testing.assert_allclose(others_log_sum(jnp.asarray(values)), exact, rtol=1e-6, atol=1e-5)
