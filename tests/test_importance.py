import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.machines import FEATURES, SMALL, small_machine
from tests.oracle import all_bits, exact_log_likelihood, exact_log_q, exact_posterior, sharpen
from wakesleep import importance
from wakesleep.architecture import build


@pytest.mark.parametrize("text", SMALL)
def test_exp_of_the_estimate_is_unbiased_and_the_log_approaches_from_below(text, key):
    # Milder parameters than elsewhere: standard errors of heavy-tailed weights mean nothing.
    machine = small_machine(text, scale=0.5)
    x = all_bits(FEATURES)[::3]
    exact = exact_log_likelihood(machine, x)
    log_weights = np.asarray(
        eqx.filter_jit(importance.log_weights)(machine, x, 40_000, key), np.float64
    )
    ratio = np.exp(log_weights - exact[:, None])
    error = ratio.std(-1) / np.sqrt(ratio.shape[-1])
    assert np.all(np.abs(ratio.mean(-1) - 1) < 4.5 * error + 1e-5)

    def mean_estimate(samples):
        groups = jnp.asarray(log_weights).reshape(len(x), -1, samples)
        return importance.log_likelihood_estimate(groups)

    estimates = [np.asarray(mean_estimate(samples), np.float64) for samples in (1, 10, 100, 1000)]
    averages = np.stack([e.mean(-1) for e in estimates])
    noise = np.stack([e.std(-1) / np.sqrt(e.shape[-1]) for e in estimates])
    assert np.all(averages < exact + 4.5 * noise + 1e-5)
    assert np.all(np.diff(averages, axis=0) > -4.5 * noise[1:] - 1e-5)
    assert np.all(np.abs(averages[-1] - exact) < 4.5 * noise[-1] + 0.02)


def machine_with_exact_posterior():
    """One latent bit over independent-given-it pixels: the posterior is a logistic regression."""
    key = jax.random.key(1)
    machine = sharpen(build("sbn/sbn 1", features=FEATURES, key=key), key, scale=1.3)
    on, off = (machine.p[0].W[:, 0] + machine.p[0].b), machine.p[0].b
    bias = machine.p[1].b + (jax.nn.log_sigmoid(-on) - jax.nn.log_sigmoid(-off)).sum()
    return eqx.tree_at(lambda m: (m.q[0].W, m.q[0].b), machine, ((on - off)[None], bias))


def test_the_exact_posterior_gives_an_estimate_without_variance(key):
    """The paper's eq. 2."""
    machine = machine_with_exact_posterior()
    x = all_bits(FEATURES)
    posterior = exact_posterior(machine, x)
    np.testing.assert_allclose(np.exp(exact_log_q(machine, x)), posterior, rtol=1e-5)
    exact = exact_log_likelihood(machine, x)
    one_sample = importance.log_weights(machine, x, 1, key)
    np.testing.assert_allclose(one_sample[:, 0], exact, atol=1e-5)
    many = importance.log_weights(machine, x, 100, key)
    assert float(many.std(-1).max()) < 1e-5


def test_weights_are_normalised_for_each_example_alone():
    log_weights = jnp.asarray([[0.0, 0.0], [1000.0, 1000.0 + np.log(3)], [-1000.0, -2000.0]])
    weights = importance.normalise(log_weights)
    np.testing.assert_allclose(weights, [[0.5, 0.5], [0.25, 0.75], [1, 0]], atol=1e-4)
    sizes = importance.effective_sample_size(log_weights)
    np.testing.assert_allclose(sizes, [2, 1 / (0.0625 + 0.5625), 1], rtol=1e-3)


def test_one_sample_is_legal():
    log_weights = jnp.asarray([[-3.0], [7.0]])
    np.testing.assert_array_equal(importance.normalise(log_weights), [[1], [1]])
    np.testing.assert_array_equal(importance.log_likelihood_estimate(log_weights), [-3, 7])
    np.testing.assert_array_equal(importance.variational_bound(log_weights), [-3, 7])
    np.testing.assert_array_equal(importance.effective_sample_size(log_weights), [1, 1])


def test_the_bound_is_the_mean_log_weight():
    assert float(importance.variational_bound(jnp.asarray([1.0, 2.0, 6.0]))) == pytest.approx(3)
