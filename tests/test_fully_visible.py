"""Machines without latents: the paper's FVSBN and NADE baselines."""

import jax
import numpy as np
import pytest

import wakesleep as ws
from tests.oracle import all_bits, exact_log_likelihood, sharpen
from wakesleep.architecture import describe, parse
from wakesleep.errors import UsageError

KINDS = ["ar_sbn", "nade(hidden=3)", "sbn"]


@pytest.fixture(params=KINDS)
def machine(request, key):
    return sharpen(ws.build(request.param, features=5, key=key), key)


def test_their_notation_goes_there_and_back(machine, tmp_path):
    assert describe(machine) in KINDS
    assert machine.latent_sizes == ()
    assert machine.q == ()
    ws.save_model(machine, tmp_path / "model.safetensors")
    assert describe(ws.load_model(tmp_path / "model.safetensors")) == describe(machine)


@pytest.mark.parametrize("text", ["nothing", "sbn 200", "200", "sbn/ 3", ""])
def test_a_wrong_string_is_still_an_error(text):
    with pytest.raises(UsageError):
        parse(text)


@pytest.mark.parametrize("method", ["importance", "exact"])
def test_the_log_likelihood_is_exact_and_sums_to_one(machine, method):
    score = ws.log_likelihood(machine, all_bits(5), samples=3, key=jax.random.key(0), method=method)
    assert np.exp(score.values).sum() == pytest.approx(1.0, rel=1e-5)
    np.testing.assert_allclose(score.values, exact_log_likelihood(machine, all_bits(5)), rtol=1e-5)
    assert score.method == "exact"
    np.testing.assert_array_equal(score.bounds, score.values)
    assert not score.standard_errors.any()


def test_samples_have_the_frequencies_of_the_log_likelihood(machine):
    n = 100_000
    drawn = ws.sample(machine, n, key=jax.random.key(3))
    counts = np.bincount(drawn @ (2 ** np.arange(5)[::-1]), minlength=32)
    exact = np.exp(exact_log_likelihood(machine, all_bits(5)))
    assert np.all(np.abs(counts / n - exact) < 4.5 * np.sqrt(exact * (1 - exact) / n) + 3 / n)


def test_training_reaches_the_entropy_of_bars_no_lower():
    """A NADE can represent bars; its exact validation NLL comes near the entropy from above."""
    from wakesleep.data import bars_entropy

    data = ws.load_dataset("bars")
    model = ws.build("nade(hidden=32)", features=data.features, key=jax.random.key(0))
    alone = {"samples": 1, "wake_q": 0, "sleep_q": 0}
    recipe = ws.Recipe(epochs=15, estimator=alone, validation_samples=1)
    result = ws.fit(model, data, recipe, seed=0, progress=False)
    score = ws.log_likelihood(result.model, data.test, method="exact")
    excess = -score.mean - bars_entropy(4)
    assert -score.confidence < excess < 0.5
