"""Scales of skewed numbers: there and back, their slope, and which one is chosen."""

import numpy as np
import pytest

from wakesleep.schema.powers import POWERS, Power, best_power, is_power


@pytest.mark.parametrize("power", POWERS)
def test_there_and_back_on_both_sides_of_the_start(power):
    scale = Power(2.0, 3.0, power)
    x = np.array([-1e4, -7.0, 1.9, 2.0, 2.1, 30.0, 1e5])
    y = scale.to(x)
    assert (np.diff(y) > 0).all()
    np.testing.assert_allclose(scale.back(y), x, rtol=1e-9, atol=1e-9)
    assert np.isnan(scale.to(np.array([np.nan]))).all()
    h = 1e-6 * (1 + np.abs(x))
    slope = (scale.to(x + h) - scale.to(x - h)) / (2 * h)
    np.testing.assert_allclose(scale.log_slope(x), np.log(slope), atol=1e-4)


def test_without_a_power_a_scale_is_what_it_was():
    x = np.array([-3.5, 0.0, 1e-300, 7.0])
    np.testing.assert_array_equal(Power().to(x), x)
    np.testing.assert_array_equal(Power().back(x), x)
    np.testing.assert_array_equal(Power().log_slope(x), 0)


def test_skewed_numbers_choose_a_logarithm_and_others_nothing():
    normal = np.random.default_rng(0).normal(size=500)
    assert best_power(normal) == Power()
    skewed = np.append(np.exp(normal), np.nan)
    assert best_power(skewed).power == 0
    # In any units.
    assert best_power(1e6 * skewed - 4).power == 0
    assert best_power(-np.exp(0.5 * normal)).power > 1
    assert best_power(np.array([1.0, 1.0, 1.0, 5.0])) == Power()
    assert best_power(np.full(9, 2.0)) == Power()


def test_scales_that_end_somewhere_are_none():
    assert is_power(Power(0.0, 1.0, 2.0))
    for wrong in (Power(unit=0.0), Power(power=-0.5), Power(power=2.5), Power(start=np.nan)):
        assert not is_power(wrong)
