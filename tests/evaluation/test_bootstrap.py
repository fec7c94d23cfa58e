"""The bootstrap against bias and variance worked out over all pairs of latent states."""

import itertools
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.machines import small_machine
from tests.oracle import (
    all_bits,
    exact_log_joint,
    exact_log_likelihood,
    exact_log_q,
    exact_p_gradient,
    flat,
    weighted_p_gradient,
)
from wakesleep.errors import DataError, UsageError
from wakesleep.evaluation import bias_variance, primary_samples

X = np.asarray(all_bits(4), np.uint8)[3:8]


@pytest.fixture(scope="module")
def machine():
    return small_machine("sbn/sbn 3", scale=0.8)


@pytest.fixture(scope="module")
def result(machine):
    return bias_variance(
        machine, X, key=jax.random.key(5), counts=(1, 2, 20), primary=5000, replicates=300
    )


def state_gradients(machine, x):
    """∂/∂θ log p(x, h) for every h, `[S, P]`; log p(x, h); q(h | x)."""
    log_joint, log_q = exact_log_joint(machine, x[None])[0], exact_log_q(machine, x[None])[0]
    each = np.eye(len(log_joint))
    gradients = [flat(weighted_p_gradient(machine, x[None], one[None])) for one in each]
    return np.array(gradients), log_joint, np.exp(log_q)


def exact_moments(machine, count):
    """Bias and deviation of gradient and of log p̂ with K samples, over all K-tuples of states."""
    biases, variances, value_biases, value_variances = [], [], [], []
    for x in jnp.asarray(X, jnp.float32):
        gradients, log_joint, q = state_gradients(machine, x)
        tuples = np.array(list(itertools.product(range(len(q)), repeat=count)))
        chance = q[tuples].prod(axis=1)
        weights = np.exp(log_joint - np.log(q))[tuples]
        estimates = np.einsum("tk,tkp->tp", weights, gradients[tuples])
        estimates /= weights.sum(axis=1, keepdims=True)
        mean = chance @ estimates
        log_p = np.log(weights.mean(axis=1))
        truth = np.logaddexp.reduce(log_joint)
        posterior = np.exp(log_joint - truth)
        biases.append(mean - posterior @ gradients)
        variances.append(chance @ np.square(estimates - mean).sum(axis=1))
        value_biases.append(chance @ log_p - truth)
        value_variances.append(chance @ np.square(log_p - chance @ log_p))
    return (
        np.linalg.norm(np.mean(biases, axis=0)),
        np.sqrt(np.sum(variances)) / len(X),
        np.mean(value_biases),
        np.sqrt(np.mean(value_variances)),
    )


def test_bias_and_deviation_are_those_of_enumeration(machine, result):
    for i, count in enumerate((1, 2)):
        bias, deviation, value_bias, value_deviation = exact_moments(machine, count)
        assert result.gradient_bias[i] == pytest.approx(bias, rel=0.15)
        assert result.gradient_deviation[i] == pytest.approx(deviation, rel=0.05)
        assert result.log_likelihood_bias[i] == pytest.approx(value_bias, rel=0.15)
        assert result.log_likelihood_deviation[i] == pytest.approx(value_deviation, rel=0.1)


def test_all_primary_samples_give_the_exact_gradient(machine, result):
    x = jnp.asarray(X, jnp.float32)
    samples = primary_samples.draw_primary(machine, x, 5000, jax.random.key(1))
    gradient = np.asarray(primary_samples.plain_gradient(machine, samples))
    expected = flat(exact_p_gradient(machine, x))
    assert np.linalg.norm(gradient - expected) < 0.05 * np.linalg.norm(expected)
    assert result.gradient_norm == pytest.approx(np.linalg.norm(expected), rel=0.05)


def test_more_samples_are_better(machine, result):
    for errors in (
        result.gradient_bias,
        result.gradient_deviation,
        -result.log_likelihood_bias,
        result.log_likelihood_deviation,
    ):
        assert (np.diff(errors) < 0).all()
    exact = float(exact_log_likelihood(machine, jnp.asarray(X, jnp.float32)).mean())
    unbiased = result.log_likelihood - result.log_likelihood_bias
    np.testing.assert_allclose(unbiased, exact, atol=0.05)


def test_blocks_change_nothing(machine, monkeypatch):
    x = jnp.asarray(X, jnp.float32)
    samples = primary_samples.draw_primary(machine, x, 33, jax.random.key(1))
    whole = np.asarray(primary_samples.plain_gradient(machine, samples))
    monkeypatch.setattr(primary_samples, "ROWS", 20)
    # Another function, for the constant is compiled in.
    anew = eqx.filter_jit(primary_samples.plain_gradient.__wrapped__)
    np.testing.assert_allclose(anew(machine, samples), whole, rtol=1e-4, atol=1e-6)


def test_the_result_is_plain_json_and_reproducible(machine):
    def run(seen):
        return bias_variance(
            machine,
            X,
            key=jax.random.key(5),
            counts=(1, 4),
            primary=20,
            replicates=3,
            progress=lambda *now: seen.append(now),
        ).to_dict()

    seen = []
    first = json.loads(json.dumps(run(seen), allow_nan=False))
    assert first == run([])
    assert first["counts"] == [1, 4]
    assert (first["examples"], first["primary"], first["replicates"]) == (5, 20, 3)
    assert seen == [(1, 15), (2, 15), (3, 15), (7, 15), (11, 15), (15, 15)]


def test_what_cannot_be_is_refused(machine):
    key = jax.random.key(0)
    with pytest.raises(UsageError, match="from 1 to 10"):
        bias_variance(machine, X, key=key, counts=(1, 11), primary=10)
    with pytest.raises(UsageError, match="replicates is 1"):
        bias_variance(machine, X, key=key, replicates=1)
    with pytest.raises(DataError, match="made for 4"):
        bias_variance(machine, X[:, 1:], key=key)
