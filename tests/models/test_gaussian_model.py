"""The documentation's Gaussian model, of which everything is known in closed form."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import multivariate_normal

import wakesleep as ws
from tests.models.own_models import assert_mean_is, estimates, page_module
from tests.oracle import flat
from tests.training.test_fit import same_bits
from wakesleep.training.events import EpochDone

GAUSSIAN = page_module("gaussian.py")
TRAINING = page_module("training.py")
JUDGING = page_module("judging.py")


def gaussian(key):
    """The page's model with parameters of a size that matters."""
    model = GAUSSIAN.gaussian_model(key)
    leaves, structure = jax.tree.flatten((model.theta, model.phi))
    keys = jax.random.split(key, len(leaves))
    moved = [a + 0.4 * jax.random.normal(k, a.shape) for a, k in zip(leaves, keys, strict=True)]
    theta, phi = jax.tree.unflatten(structure, moved)
    return eqx.tree_at(lambda m: (m.theta, m.phi), model, (theta, phi))


def gaussian_log_evidence(theta, x):
    covariance = theta["A"] @ theta["A"].T + jnp.exp(2 * theta["log_noise"]) * jnp.eye(x.shape[-1])
    return multivariate_normal.logpdf(x, theta["b"], covariance)


def gaussian_expected_log_q(phi, theta):
    """E log q(h | x) over dreams, from the moments of h − W x − c."""
    through = jnp.eye(phi["W"].shape[0]) - phi["W"] @ theta["A"]
    noise = jnp.exp(theta["log_noise"]) * phi["W"]
    variance = jnp.square(through).sum(1) + jnp.square(noise).sum(1)
    squares = variance + jnp.square(phi["W"] @ theta["b"] + phi["c"])
    constant = 0.5 * jnp.log(2 * jnp.pi)
    return (-phi["log_scale"] - 0.5 * squares * jnp.exp(-2 * phi["log_scale"]) - constant).sum()


def gaussian_rows(theta, key, count):
    return jax.vmap(lambda k: GAUSSIAN.sample_p(theta, k)[0])(jax.random.split(key, count))


def test_the_gaussian_likelihood_is_the_exact_one(key):
    model = gaussian(key)
    x = gaussian_rows(model.theta, key, 40)
    found = ws.log_likelihood(model, x, samples=5_000, key=key)
    exact = np.asarray(gaussian_log_evidence(model.theta, x))
    z = (found.values - found.biases - exact) / found.standard_errors
    trusted = ~found.unreliable
    assert trusted.sum() > 20
    assert np.abs(z[trusted]).max() < 4.5
    assert np.all(found.samples == 5_000)


def test_gaussian_wake_p_gradients_are_those_of_the_exact_likelihood(key):
    model = gaussian(key)
    x = gaussian_rows(model.theta, key, 3)
    theta, _ = estimates(model, x, key, 30, 4000, wake_q=0, sleep_q=0)
    exact = jax.grad(lambda theta: gaussian_log_evidence(theta, x).mean())(model.theta)
    assert_mean_is(-theta, flat(exact), slack=1e-2)


def test_gaussian_sleep_gradients_are_unbiased(key):
    model = gaussian(key)
    x = jnp.zeros((4, 3))
    theta, phi = estimates(model, x, key, 300, 1, wake_p=0, wake_q=0, dreams=20)
    assert np.all(theta == 0)
    assert_mean_is(-phi, flat(jax.grad(gaussian_expected_log_q)(model.phi, model.theta)))


def test_a_gaussian_model_learns_from_minibatches(key):
    truth = gaussian(key).theta
    x = gaussian_rows(truth, key, 2000)
    valid, held_out = (gaussian_rows(truth, jax.random.fold_in(key, n), 1000) for n in (1, 2))
    start = GAUSSIAN.gaussian_model(key)
    result = TRAINING.train(start, x, valid, epochs=25, estimator={"samples": 20})
    theta = result.model.theta
    lost = gaussian_log_evidence(truth, held_out) - gaussian_log_evidence(theta, held_out)
    error = float(lost.std() / np.sqrt(1000))
    assert abs(float(lost.mean())) < 0.05 + 4.5 * error
    assert result.history[-1].effective_samples > 5
    # What validation measures is the exact evidence of the rows it was given, up to noise.
    exact = float(gaussian_log_evidence(theta, valid).mean())
    assert result.snapshot.best.valid_ll == pytest.approx(exact, abs=0.1)


def test_the_page_s_last_step_judges_what_it_trained(key):
    truth = gaussian(key).theta
    x, valid, test = (gaussian_rows(truth, jax.random.fold_in(key, n), 400) for n in range(3))
    score = JUDGING.train_and_judge(GAUSSIAN.gaussian_model, TRAINING.train, x, valid, test)
    best = float(gaussian_log_evidence(truth, test).mean())
    assert best - 0.5 < score.mean < best + 0.05
    assert 0 < score.confidence < 0.5


def test_a_gaussian_model_is_stopped_and_goes_on_bit_for_bit(key):
    truth = gaussian(key).theta
    x, valid = gaussian_rows(truth, key, 300), gaussian_rows(truth, jax.random.fold_in(key, 1), 60)
    start = GAUSSIAN.gaussian_model(key)
    seen = []
    whole = TRAINING.train(start, x, valid, epochs=4, observers=[seen.append])
    ends = [event.snapshot for event in seen if isinstance(event, EpochDone)]
    for snapshot in ends[:-1]:
        again = TRAINING.train(start, x, valid, epochs=4, resume=snapshot)
        assert same_bits(again.snapshot.arrays, whole.snapshot.arrays)
