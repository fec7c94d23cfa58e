"""Models of one's own: the documentation's, against exact likelihoods and gradients."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import poisson

import wakesleep as ws
from tests.models.own_models import assert_mean_is, estimates, page_module, step
from tests.models.test_gaussian_model import GAUSSIAN, TRAINING, gaussian
from tests.oracle import flat
from wakesleep.errors import UsageError

CATEGORICAL = page_module("categorical.py")
POISSON = page_module("poisson.py")


# ---- a categorical latent: every h and every x can be listed


def categorical_log_joint(model, x):
    """log p(x, h) for every h, `[N, components]`."""
    each_h = jax.vmap(model.functions.log_p, in_axes=(None, None, 0))
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


def test_a_categorical_model_learns_from_minibatches(key):
    truth = CATEGORICAL.categorical_model(key)
    x, valid = (truth.dream(jax.random.fold_in(key, n), 2000)[0] for n in (1, 2))
    start = CATEGORICAL.categorical_model(jax.random.fold_in(key, 9))
    result = TRAINING.train(start, x, valid, epochs=30, estimator={"samples": 10})

    def log_evidence(model, rows):
        return jax.nn.logsumexp(categorical_log_joint(model, rows), axis=-1)

    lost = log_evidence(truth, valid) - log_evidence(result.model, valid)
    before = log_evidence(truth, valid) - log_evidence(start, valid)
    assert float(lost.mean()) < 0.02 < 0.2 < float(before.mean())


def test_rows_may_be_trees_of_arrays(key):
    """Two arrays per example, of different types, through fit and log_likelihood."""

    def log_p(theta, x, h):
        fit = -0.5 * jnp.square(x["real"] - theta["mean"][h]).sum()
        return jnp.log(0.5) + fit + jax.nn.log_softmax(theta["logits"][h])[x["count"]]

    def log_q(phi, h, x):
        return jax.nn.log_softmax(phi["w"] @ x["real"] + phi["t"][:, x["count"]])[h]

    def sample_q(phi, x, key):
        return jax.random.categorical(key, phi["w"] @ x["real"] + phi["t"][:, x["count"]])

    theta = {"mean": jnp.array([[-1.0, 0.0], [1.0, 0.0]]), "logits": jnp.zeros((2, 3))}
    phi = {"w": jnp.zeros((2, 2)), "t": jnp.zeros((2, 3))}
    model = ws.FunctionModel(theta, phi, log_p, log_q, sample_q)
    random = np.random.default_rng(0)
    rows = {"real": random.normal(size=(90, 2)), "count": random.integers(0, 3, 90)}
    options = {"samples": 4, "sleep_q": 0}
    result = TRAINING.train(model, rows, rows, epochs=5, estimator=options)
    exact = [
        jax.nn.logsumexp(jnp.stack([log_p(result.model.theta, row, h) for h in (0, 1)]))
        for row in ({"real": a, "count": b} for a, b in zip(*rows.values(), strict=True))
    ]
    score = ws.log_likelihood(result.model, rows, samples=400, key=key)
    np.testing.assert_allclose(score.values, exact, atol=0.2)


def test_categorical_likelihoods_are_exact_and_every_row_is_scored(key):
    model = CATEGORICAL.categorical_model(key)
    found = ws.log_likelihood(model, EVERY_X, samples=300, key=key)
    exact = np.asarray(jax.nn.logsumexp(categorical_log_joint(model, EVERY_X), axis=-1))
    assert len(found) == 16
    z = (found.values - found.biases - exact) / found.standard_errors
    assert np.abs(z).max() < 4.5


def test_weights_belong_to_each_example_and_not_to_the_minibatch(key):
    """An example's part of the gradient is the same beside likely and unlikely neighbours."""
    model, x = CATEGORICAL.categorical_model(key), EVERY_X[:2]

    @eqx.filter_jit
    def gradients(x):
        return step(model, x, key, samples=20_000, wake_q=0, sleep_q=0).gradients

    both, alone = gradients(x), [gradients(row[None]) for row in x]
    mean = (flat(alone[0].theta) + flat(alone[1].theta)) / 2
    np.testing.assert_allclose(flat(both.theta), mean, atol=0.05)


# ---- NumPyro's distributions, and no dream


def poisson_log_evidence(theta, x):
    log_prior = jax.nn.log_softmax(theta["prior"])
    return jax.nn.logsumexp(log_prior + poisson.logpmf(x[:, None], jnp.exp(theta["log_rate"])), -1)


def test_numpyro_gradients_are_those_of_the_exact_likelihood(key):
    model, x = POISSON.poisson_model(), jnp.array([0, 2, 9, 5])
    theta, _ = estimates(model, x, key, 40, 4000, sleep_q=0)
    exact = jax.grad(lambda theta: poisson_log_evidence(theta, x).mean())(model.theta)
    assert_mean_is(-theta, flat(exact), slack=1e-3)


def test_a_numpyro_mixture_learns_from_minibatches(key):
    rates = np.random.default_rng(0).choice([1.0, 12.0], 1500, p=[0.4, 0.6])
    x = jnp.asarray(np.random.default_rng(1).poisson(rates))
    truth = {"prior": jnp.log(jnp.array([0.4, 0.6])), "log_rate": jnp.log(jnp.array([1.0, 12.0]))}
    options = {"samples": 20, "sleep_q": 0}
    result = TRAINING.train(POISSON.poisson_model(), x, x, epochs=60, rate=3e-2, estimator=options)
    theta = result.model.theta
    lost = poisson_log_evidence(truth, x).mean() - poisson_log_evidence(theta, x).mean()
    assert float(lost) < 0.01
    assert result.history[-1].kl == ()


def test_without_sample_p_dreams_are_refused_with_a_way_out(key):
    x = jnp.array([1, 2])
    with pytest.raises(UsageError, match=r"no sample_p.*sleep_q to 0"):
        step(POISSON.poisson_model(), x, key)
    with pytest.raises(UsageError, match=r"no sample_p.*sleep_q to 0"):
        TRAINING.train(POISSON.poisson_model(), x, x, epochs=1)


# ---- what is refused


def test_x_must_be_a_minibatch(key):
    for wrong in (jnp.asarray(3), {"a": jnp.zeros(2), "b": jnp.zeros(3)}, ()):
        with pytest.raises(UsageError, match="minibatch"):
            POISSON.poisson_model().draw(key, wrong, 2)


def test_log_probabilities_must_be_scalars(key):
    model = gaussian(key)
    wrong = ws.FunctionModel(
        model.theta, model.phi, lambda theta, x, h: x, GAUSSIAN.log_q, GAUSSIAN.sample_q
    )
    with pytest.raises(UsageError, match="log_p must give one number"):
        step(wrong, jnp.zeros((2, 3)), key)


def test_counts_below_one_are_refused(key):
    with pytest.raises(UsageError, match="1 or more"):
        ws.log_likelihood(POISSON.poisson_model(), jnp.array([1]), samples=0, key=key)
