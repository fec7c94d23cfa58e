"""Exact likelihoods and bounds against the oracle's plain enumeration."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.machines import SMALL, small_machine
from tests.oracle import all_bits, exact_bound, exact_log_likelihood, sharpen
from wakesleep.architecture import build
from wakesleep.errors import UsageError
from wakesleep.evaluation import exact, log_likelihood

X = np.asarray(all_bits(4), np.uint8)


@pytest.mark.parametrize("text", SMALL)
def test_values_and_bounds_equal_the_oracles(text):
    machine, x = small_machine(text, scale=1.5), jnp.asarray(X, jnp.float32)
    score = log_likelihood(machine, X, method="exact")
    np.testing.assert_allclose(score.values, exact_log_likelihood(machine, x), rtol=1e-5)
    np.testing.assert_allclose(score.bounds, exact_bound(machine, x), rtol=1e-4)
    assert np.exp(score.values).sum() == pytest.approx(1, abs=1e-5)
    assert score.monte_carlo_error == 0
    assert score.confidence == score.test_set_error > 0


def test_blocks_change_nothing(monkeypatch):
    machine = small_machine("ar-sbn/sbn 2-4-3")
    whole = log_likelihood(machine, X, method="exact")
    monkeypatch.setattr(exact, "LARGEST_ARRAY", 4 * 4 * 3)
    blocked = log_likelihood(machine, X, method="exact")
    np.testing.assert_allclose(blocked.values, whole.values, rtol=1e-5)
    np.testing.assert_allclose(blocked.bounds, whole.bounds, rtol=1e-5)


def test_twenty_bits_are_listed_and_more_are_refused():
    key = jax.random.key(3)
    machine = sharpen(build("sbn/sbn 2-18", features=2, key=key), key)
    values = log_likelihood(machine, all_bits(2), method="exact").values
    assert np.exp(values).sum() == pytest.approx(1, abs=1e-4)
    larger = build("sbn/sbn 21", features=2, key=key)
    with pytest.raises(UsageError, match="up to 20 latent bits, but this machine has 21"):
        log_likelihood(larger, all_bits(2), method="exact")
