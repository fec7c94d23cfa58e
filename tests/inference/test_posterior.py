"""Posterior means and log p̂ of rows, also where there are no latents."""

import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep as ws
from tests.machines import small_machine
from tests.oracle import all_bits, all_latents, exact_log_likelihood, exact_posterior
from wakesleep.data import MaskedBits, as_bits
from wakesleep.inference import each_row
from wakesleep.inference.posterior import infer_rows

X = np.asarray(all_bits(4), np.uint8)


def test_means_and_likelihoods_are_the_exact_ones(key):
    machine, x = small_machine("sbn/nade 2-3", scale=0.7), jnp.asarray(X, jnp.float32)
    inferred = infer_rows(machine, as_bits(X), 20_000, key)
    exact = exact_posterior(machine, x) @ jnp.concatenate(all_latents(machine), axis=1)
    assert inferred.means.shape == (16, 5)
    np.testing.assert_allclose(inferred.means, exact, atol=0.05)
    np.testing.assert_allclose(inferred.log_likelihood, exact_log_likelihood(machine, x), atol=0.1)


def test_a_row_s_numbers_are_its_own_in_any_company_and_any_block(key, monkeypatch):
    machine = small_machine("sbn/sbn 2-3")
    whole = infer_rows(machine, as_bits(X), 30, key)
    monkeypatch.setattr(each_row, "ROWS_PER_CALL", 3)
    backwards = infer_rows(machine, as_bits(X[::-1]), 30, key)
    assert np.array_equal(backwards.means[::-1], whole.means)
    assert np.array_equal(backwards.log_likelihood[::-1], whole.log_likelihood)


@pytest.mark.parametrize("text", ["sbn/sbn 2-3", "nade(hidden=3)"])
def test_a_complete_row_s_numbers_are_its_own_whatever_others_lack(text, key):
    machine = ws.build(text, features=4, key=key, masked="/" in text)
    alone = infer_rows(machine, as_bits(X), 30, key)
    observed = np.ones((len(X), 4))
    observed[3, 1] = 0
    some = infer_rows(machine, MaskedBits.pack(X * observed, observed, (1,) * 4), 30, key)
    complete = np.arange(len(X)) != 3
    assert np.array_equal(some.log_likelihood[complete], alone.log_likelihood[complete])
    assert np.array_equal(some.means[complete], alone.means[complete])
    assert some.log_likelihood[3] > alone.log_likelihood[3]


@pytest.mark.parametrize("text", ["nade(hidden=3)", "ar_sbn", "sbn"])
def test_without_latents_likelihoods_are_exact_and_means_are_empty(text, key):
    model = ws.build(text, features=4, key=key)
    inferred = infer_rows(model, as_bits(X), 100, key)
    exact = ws.log_likelihood(model, X, method="exact").values
    assert inferred.means.shape == (16, 0)
    np.testing.assert_allclose(inferred.log_likelihood, exact, rtol=1e-6)
    assert np.exp(inferred.log_likelihood).sum() == pytest.approx(1, abs=1e-5)
