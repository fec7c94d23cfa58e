"""Models of one's own: the documentation's, against exact likelihoods and gradients."""

import re
import sys
import types
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import multivariate_normal, poisson

import wakesleep as ws
from tests.oracle import flat
from wakesleep.errors import UsageError

PAGE = (Path(__file__).parents[1] / "docs" / "own-models.md").read_text(encoding="utf-8")


def page_module(name):
    """A code block of the page as a module."""
    (code,) = re.findall(rf"```python\n# {name}\n(.*?)```", PAGE, re.DOTALL)
    module = types.ModuleType(f"own_{Path(name).stem}")
    sys.modules[module.__name__] = module
    exec(compile(code, name, "exec"), vars(module))
    return module


GAUSSIAN = page_module("gaussian.py")
CATEGORICAL = page_module("categorical.py")
POISSON = page_module("poisson.py")
TRAINING = page_module("training.py")


def estimates(model, x, key, repetitions, samples, **weights):
    """Independent gradients, each flattened: those of theta and of phi."""

    @eqx.filter_jit
    def one(key):
        return ws.reweighted_gradients(model, x, samples, key=key, **weights)[0]

    drawn = [one(k) for k in jax.random.split(key, repetitions)]
    return np.stack([flat(g.theta) for g in drawn]), np.stack([flat(g.phi) for g in drawn])


def assert_mean_is(samples, exact, slack=0.0):
    error = samples.std(0, ddof=1) / np.sqrt(len(samples))
    assert np.all(np.abs(samples.mean(0) - exact) < 4.5 * error + slack + 1e-5)


# ---- a Gaussian latent: everything is known in closed form


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
    return jax.vmap(lambda k: GAUSSIAN.dream(theta, k)[0])(jax.random.split(key, count))


def test_the_gaussian_likelihood_is_the_exact_one(key):
    model = gaussian(key)
    x = gaussian_rows(model.theta, key, 40)
    found = ws.own_log_likelihood(model, x, samples=5_000, key=key)
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
    model, info = TRAINING.train(GAUSSIAN.gaussian_model(key), x, epochs=25)
    held_out = gaussian_rows(truth, jax.random.fold_in(key, 1), 1000)
    lost = gaussian_log_evidence(truth, held_out) - gaussian_log_evidence(model.theta, held_out)
    error = float(lost.std() / np.sqrt(1000))
    assert abs(float(lost.mean())) < 0.05 + 4.5 * error
    assert float(info.effective_samples) > 5


# ---- a categorical latent: every h and every x can be listed


def categorical_log_joint(model, x):
    """log p(x, h) for every h, `[N, components]`."""
    each_h = jax.vmap(model.log_p, in_axes=(None, None, 0))
    states = jnp.arange(len(model.theta["prior"]))
    return jax.vmap(lambda row: each_h(model.theta, row, states))(x)


def categorical_log_q(model, x):
    return jax.nn.log_softmax(jax.vmap(lambda row: CATEGORICAL.logits_q(model.phi, row))(x))


EVERY_X = jnp.stack(jnp.meshgrid(jnp.arange(4), jnp.arange(4)), axis=-1).reshape(-1, 2)


def test_the_categorical_model_sums_to_one(key):
    model = CATEGORICAL.categorical_model(key)
    assert float(jnp.exp(categorical_log_joint(model, EVERY_X)).sum()) == pytest.approx(1, abs=1e-5)


def test_categorical_wake_gradients_are_the_exact_ones(key):
    model, x = CATEGORICAL.categorical_model(key), EVERY_X[::3]
    posterior = jax.nn.softmax(categorical_log_joint(model, x))

    def log_evidence(model):
        return jax.nn.logsumexp(categorical_log_joint(model, x), axis=-1).mean()

    def cross_entropy(model):
        return (posterior * categorical_log_q(model, x)).sum(-1).mean()

    theta, phi = estimates(model, x, key, 40, 4000, sleep_q=0)
    assert_mean_is(-theta, flat(eqx.filter_grad(log_evidence)(model).theta), slack=1e-3)
    assert_mean_is(-phi, flat(eqx.filter_grad(cross_entropy)(model).phi), slack=1e-3)


def test_categorical_sleep_gradients_are_unbiased(key):
    model = CATEGORICAL.categorical_model(key)
    joint = jnp.exp(categorical_log_joint(model, EVERY_X))
    exact = eqx.filter_grad(lambda m: (joint * categorical_log_q(m, EVERY_X)).sum())(model)
    _, phi = estimates(model, EVERY_X, key, 200, 1, wake_p=0, wake_q=0, dreams=5)
    assert_mean_is(-phi, flat(exact.phi))


def test_categorical_likelihoods_are_exact_and_every_row_is_scored(key):
    model = CATEGORICAL.categorical_model(key)
    found = ws.own_log_likelihood(model, EVERY_X, samples=300, key=key)
    exact = np.asarray(jax.nn.logsumexp(categorical_log_joint(model, EVERY_X), axis=-1))
    assert len(found) == 16
    z = (found.values - found.biases - exact) / found.standard_errors
    assert np.abs(z).max() < 4.5


def test_weights_belong_to_each_example_and_not_to_the_minibatch(key):
    """An example's part of the gradient is the same beside likely and unlikely neighbours."""
    model, x = CATEGORICAL.categorical_model(key), EVERY_X[:2]
    gradients = eqx.filter_jit(ws.reweighted_gradients)
    both, _ = gradients(model, x, 20_000, key=key, wake_q=0, sleep_q=0)
    alone = [gradients(model, row[None], 20_000, key=key, wake_q=0, sleep_q=0)[0] for row in x]
    mean = (flat(alone[0].theta) + flat(alone[1].theta)) / 2
    np.testing.assert_allclose(flat(both.theta), mean, atol=0.05)


# ---- NumPyro's distributions, and no dream


def poisson_log_evidence(theta, x):
    log_prior = jax.nn.log_softmax(theta["prior"])
    return jax.nn.logsumexp(log_prior + poisson.logpmf(x[:, None], jnp.exp(theta["log_rate"])), -1)


def test_numpyro_gradients_are_those_of_the_exact_likelihood(key):
    model, x = POISSON.poisson_model(), jnp.array([0, 2, 9, 5])
    theta, _ = estimates(model, x, key, 40, 4000)
    exact = jax.grad(lambda theta: poisson_log_evidence(theta, x).mean())(model.theta)
    assert_mean_is(-theta, flat(exact), slack=1e-3)


def test_a_numpyro_mixture_learns_from_minibatches(key):
    rates = np.random.default_rng(0).choice([1.0, 12.0], 1500, p=[0.4, 0.6])
    x = jnp.asarray(np.random.default_rng(1).poisson(rates))
    truth = {"prior": jnp.log(jnp.array([0.4, 0.6])), "log_rate": jnp.log(jnp.array([1.0, 12.0]))}
    model, info = TRAINING.train(POISSON.poisson_model(), x, epochs=60, rate=3e-2)
    lost = poisson_log_evidence(truth, x).mean() - poisson_log_evidence(model.theta, x).mean()
    assert float(lost) < 0.01
    assert info.kl == ()


def test_without_sample_p_sleep_is_off_and_asking_for_it_is_refused(key):
    model, x = POISSON.poisson_model(), jnp.array([1, 2])
    gradients = eqx.filter_jit(ws.reweighted_gradients)
    off, _ = gradients(model, x, key=key)
    also_off, _ = gradients(model, x, key=key, sleep_q=0)
    assert np.array_equal(flat(off.phi), flat(also_off.phi))
    with pytest.raises(UsageError, match="no dream"):
        ws.reweighted_gradients(model, x, key=key, sleep_q=1)


# ---- what is refused


def test_x_must_be_a_minibatch(key):
    for wrong in (jnp.asarray(3), {"a": jnp.zeros(2), "b": jnp.zeros(3)}, ()):
        with pytest.raises(UsageError, match="minibatch"):
            ws.reweighted_gradients(POISSON.poisson_model(), wrong, key=key)


def test_log_probabilities_must_be_scalars(key):
    model = gaussian(key)
    wrong = ws.FunctionModel(
        model.theta, model.phi, lambda theta, x, h: x, GAUSSIAN.log_q, GAUSSIAN.sample_q
    )
    with pytest.raises(UsageError, match="log_p must give one number"):
        ws.reweighted_gradients(wrong, jnp.zeros((2, 3)), key=key)


def test_counts_below_one_are_refused(key):
    with pytest.raises(UsageError, match="at least 1"):
        ws.own_log_likelihood(POISSON.poisson_model(), jnp.array([1]), samples=0, key=key)
