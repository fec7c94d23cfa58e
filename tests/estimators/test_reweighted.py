"""Algorithm 1's three gradients against exact ones from listing every state."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.machines import FEATURES, SMALL, small_machine
from tests.oracle import (
    all_bits,
    exact_p_gradient,
    exact_sleep_q_gradient,
    exact_wake_q_gradient,
    flat,
)
from wakesleep import importance
from wakesleep.errors import UsageError
from wakesleep.estimators import Batch, Reweighted

X = all_bits(FEATURES)[1::5]


def step(estimator, machine, key, x=X):
    """Gradients and info of one step on some rows."""
    batch = Batch(jnp.asarray(x, jnp.float32), jnp.arange(len(x)))
    state = estimator.init(machine, len(x), key)
    gradients, _, info = estimator.step(machine, state, batch, key)
    return gradients, info


def estimates(estimator, machine, key, repetitions):
    """Independent gradient estimates, each flattened: two matrices `[repetitions, parameters]`."""

    @eqx.filter_jit
    def one(key):
        return step(estimator, machine, key)[0]

    drawn = [one(k) for k in jax.random.split(key, repetitions)]
    return np.stack([flat(g.p) for g in drawn]), np.stack([flat(g.q) for g in drawn])


def assert_mean_is(samples, exact, slack=0.0):
    error = samples.std(0, ddof=1) / np.sqrt(len(samples))
    assert np.all(np.abs(samples.mean(0) - exact) < 4.5 * error + slack + 1e-5)


@pytest.mark.parametrize("text", SMALL)
def test_wake_gradients_converge_to_the_exact_ones(text, key):
    machine = small_machine(text, scale=0.5)
    estimator = Reweighted(samples=4000, sleep_q=0, combine=False)
    p, q = estimates(estimator, machine, key, 20)
    # The bias is of order 1/K: a thousandth of the gradients' own size here.
    assert_mean_is(-p, flat(exact_p_gradient(machine, X)), slack=2e-3)
    assert_mean_is(-q, flat(exact_wake_q_gradient(machine, X)), slack=2e-3)


@pytest.mark.parametrize("text", SMALL)
def test_the_sleep_gradient_is_unbiased(text, key):
    machine = small_machine(text, scale=0.5)
    estimator = Reweighted(samples=1, wake_p=0, wake_q=0, dreams=50)
    p, q = estimates(estimator, machine, key, 200)
    assert np.all(p == 0)
    assert_mean_is(-q, flat(exact_sleep_q_gradient(machine)))


def test_more_samples_mean_less_bias(key):
    machine = small_machine("sbn/sbn 2-3", scale=0.7)
    exact = flat(exact_p_gradient(machine, X))
    bias = []
    for samples in (1, 5, 50):
        estimator = Reweighted(samples=samples, wake_q=0, sleep_q=0, combine=False)
        p, _ = estimates(estimator, machine, key, 400)
        bias.append(np.linalg.norm(-p.mean(0) - exact))
    assert bias[0] > 1.5 * bias[1] > 2 * bias[2]


@pytest.mark.parametrize("text", SMALL)
def test_the_surrogate_is_the_gradient_of_log_mean_weight_with_samples_fixed(text, key):
    """The paper's eq. 3, exactly: no sampling error on either side."""
    machine = small_machine(text)
    samples = 6
    estimator = Reweighted(samples=samples, wake_q=0, sleep_q=0, combine=False)
    gradients, info = step(estimator, machine, key)
    wake_key, _ = jax.random.split(key)
    h = machine.sample_q(wake_key, X, samples)
    log_q = machine.log_q(h, X[:, None])

    def log_mean_weight(p):
        log_p = eqx.tree_at(lambda m: m.p, machine, p).log_joint(X[:, None], h)
        return importance.log_likelihood_estimate(log_p - log_q).mean()

    value, exact = eqx.filter_value_and_grad(log_mean_weight)(machine.p)
    np.testing.assert_allclose(-flat(gradients.p), flat(exact), atol=2e-5)
    assert float(info.log_likelihood) == pytest.approx(float(value), abs=1e-4)


def test_each_update_has_its_own_weight_and_they_add_up(key):
    machine = small_machine("ar_sbn/nade 2-2")

    def gradient(**weights):
        gradients, _ = step(Reweighted(samples=3, **weights), machine, key)
        return flat(gradients.p), flat(gradients.q)

    p, q = gradient(wake_p=2.0, wake_q=0.5, sleep_q=3.0)
    np.testing.assert_allclose(p, 2 * gradient(wake_q=0, sleep_q=0)[0], atol=1e-5)
    wake, sleep = gradient(sleep_q=0)[1], gradient(wake_q=0)[1]
    np.testing.assert_allclose(q, 0.5 * wake + 3 * sleep, atol=1e-5)


def test_no_update_of_q_at_all_leaves_q_without_gradient(key):
    gradients, _ = step(Reweighted(wake_q=0, sleep_q=0), small_machine("sbn/nade 2-2"), key)
    assert np.all(flat(gradients.q) == 0)
    assert np.any(flat(gradients.p) != 0)


def test_classic_wake_sleep_is_one_sample_without_wake_q(key):
    machine = small_machine("sbn/sbn 2-2")
    gradients, _ = step(Reweighted(samples=1, wake_q=0), machine, key)
    wake_key, sleep_key = jax.random.split(key)
    h = machine.sample_q(wake_key, X, 1)
    x_dream, h_dream = machine.dream(sleep_key, len(X))
    wake = eqx.filter_grad(lambda m: -m.log_joint(X[:, None], h).mean())(machine)
    sleep = eqx.filter_grad(lambda m: -m.log_q(h_dream, x_dream).mean())(machine)
    np.testing.assert_allclose(flat(gradients.p), flat(wake.p), atol=1e-5)
    np.testing.assert_allclose(flat(gradients.q), flat(sleep.q), atol=1e-5)


def test_info_says_what_the_weights_say(key):
    machine = small_machine("sbn/sbn 2-3")
    _, info = step(Reweighted(samples=8), machine, key)
    log_weights = importance.log_weights(machine, X, 8, jax.random.split(key)[0])
    weights = importance.normalise(log_weights)
    assert float(info.bound) == pytest.approx(float(log_weights.mean()), abs=1e-4)
    assert float(info.largest_weight) == pytest.approx(float(weights.max(-1).mean()), abs=1e-4)
    assert 1 <= float(info.effective_samples) <= 8
    drawn = machine.draw(jax.random.split(key)[0], X, 8)
    reconstruction = float(drawn.log_p_terms[0].mean())
    assert float(info.bound) == pytest.approx(reconstruction - float(sum(info.kl)), abs=1e-4)


@pytest.mark.parametrize("wrong", [{"samples": 0}, {"dreams": 0}])
def test_counts_below_one_are_refused(wrong):
    with pytest.raises(UsageError, match="1 or more"):
        Reweighted(**wrong)


def test_gradients_are_averaged_over_the_batch_not_normalised_over_it(key):
    """Doubling the batch with a far less likely example must not silence either one."""
    machine = small_machine("sbn/sbn 2")
    rare = eqx.tree_at(lambda m: m.p[0].b, machine, jnp.full(FEATURES, 6.0))
    x = jnp.stack([jnp.ones(FEATURES), jnp.zeros(FEATURES)])
    gradients, _ = step(Reweighted(samples=50, wake_q=0, sleep_q=0), rare, key, x)
    # Were weights normalised over the batch, the all-zero row would have no say in the bias.
    assert np.all(np.asarray(gradients.p[0].b) > 0.2)
