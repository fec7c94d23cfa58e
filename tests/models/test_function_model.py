"""Models of one's own: the documentation's, against exact likelihoods and gradients."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import multivariate_normal, poisson

import wakesleep as ws
from tests.oracle import flat
from tests.pages import python_blocks, run_block
from tests.training.test_fit import same_bits
from wakesleep.errors import UsageError
from wakesleep.estimators import Batch
from wakesleep.training.events import EpochDone


def page_module(name):
    """A code block of the page as a module."""
    (block,) = [each for each in python_blocks("docs/own-models.md") if each.name == name]
    return run_block(block)


GAUSSIAN = page_module("gaussian.py")
CATEGORICAL = page_module("categorical.py")
POISSON = page_module("poisson.py")
TRAINING = page_module("training.py")
JUDGING = page_module("judging.py")


def step(model, x, key, **options):
    """One step of Reweighted Wake-Sleep on some rows."""
    rows = jnp.arange(len(jax.tree.leaves(x)[0]))
    return ws.Reweighted(**options).step(model, (), Batch(x, rows), key)


def estimates(model, x, key, repetitions, samples, **weights):
    """Independent gradients, each flattened: those of theta and of phi."""

    @eqx.filter_jit
    def one(key):
        return step(model, x, key, samples=samples, **weights).gradients

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
