"""log p̂(x) of models given as JAX functions, against values known in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.stats import multivariate_normal, norm

import wakesleep as ws
from tests.evaluation.test_resume import interrupt_after
from wakesleep.data import ArrayRows
from wakesleep.errors import DataError, UsageError
from wakesleep.evaluation import bias_variance, log_likelihood, workers
from wakesleep.evaluation.adaptive import FEWEST_RUNS
from wakesleep.inference.smc import RUN_SAMPLES

NOISE = 0.8
A = jnp.array([[1.0, -0.5], [0.3, 0.7], [0.0, 1.2]])


def gaussian_model(width=1.0):
    """h ~ N(0, I), x ~ N(A h, s²): the posterior is known, and q is it with another width."""

    def log_p(theta, x, h):
        log_noise = norm.logpdf(x["values"], theta["A"] @ h + x["shift"], NOISE).sum()
        return log_noise + norm.logpdf(h).sum()

    def q_of(phi, x):
        precision = jnp.eye(2) + phi["A"].T @ phi["A"] / NOISE**2
        mean = jnp.linalg.solve(precision, phi["A"].T @ (x["values"] - x["shift"]) / NOISE**2)
        return mean, jnp.linalg.inv(precision) * phi["width"]

    def log_q(phi, h, x):
        return multivariate_normal.logpdf(h, *q_of(phi, x))

    def sample_q(phi, x, key):
        return jax.random.multivariate_normal(key, *q_of(phi, x), method="cholesky")

    return ws.FunctionModel({"A": A}, {"A": A, "width": width}, log_p, log_q, sample_q)


def rows(count, seed=0):
    """A dictionary of arrays of different shapes."""
    random = np.random.default_rng(seed)
    return {
        "values": random.normal(size=(count, 3)).astype(np.float32),
        "shift": random.normal(size=count).astype(np.float32),
    }


def exact(x):
    covariance = np.asarray(A @ A.T) + NOISE**2 * np.eye(3)
    centred = x["values"] - x["shift"][:, None]
    return np.asarray(multivariate_normal.logpdf(centred, np.zeros(3), covariance))


@pytest.mark.parametrize("samples", [1, 40, 2500])
def test_where_q_is_the_posterior_the_value_is_exact_with_any_samples(samples, key):
    x = rows(17)
    score = log_likelihood(gaussian_model(), x, samples, key=key)
    np.testing.assert_allclose(score.values, exact(x), atol=1e-4)
    assert score.method == "importance"
    assert (score.samples == samples).all()


@pytest.mark.parametrize("wrap", [dict, ArrayRows])
def test_estimates_are_the_exact_values_to_within_their_errors(wrap, key):
    x = rows(33)
    score = log_likelihood(gaussian_model(width=2.0), wrap(x), 900, key=key)
    z = (score.values - score.biases - exact(x)) / score.standard_errors
    assert np.abs(z).max() < 4.5
    assert np.abs(z).mean() > 0.4
    assert len(np.unique(score.values)) == 33


def test_a_tolerance_stops_early_and_agrees(key):
    x, most = rows(20), 20_000
    score = log_likelihood(gaussian_model(width=2.0), x, most, key=key, tolerance=0.05)
    assert score.samples.max() < most
    assert (score.standard_errors <= 0.05).all()
    assert np.all(np.abs(score.values - exact(x)) < 4.5 * score.standard_errors)


def test_a_tolerance_never_begins_smc_runs(key):
    """A q so narrow that a Helmholtz machine with such weights would go on with runs."""
    x, most = rows(2), 2048 + FEWEST_RUNS * RUN_SAMPLES
    model = gaussian_model(width=0.05)
    score = log_likelihood(model, x, most, key=key, tolerance=0.01)
    assert score.unreliable.all()
    assert (score.runs == 0).all()
    assert (score.samples == most).all()
    fixed = log_likelihood(model, x, most, key=key)
    assert score.records.tobytes() == fixed.records.tobytes()


@pytest.mark.parametrize(
    ("options", "stop", "left"),
    [({"samples": 1500}, 4, [5, 6, 7]), ({"samples": 1500, "tolerance": 0.5}, 1, [])],
)
def test_an_interrupted_evaluation_goes_on_with_the_same_numbers(
    options, stop, left, tmp_path, key
):
    x, path = rows(7), tmp_path / "evaluation.safetensors"
    with pytest.raises(KeyboardInterrupt):
        log_likelihood(
            gaussian_model(2.0), x, key=key, checkpoint=path, progress=interrupt_after(stop),
            **options,
        )  # fmt: skip
    seen = []
    # The functions are made anew, as in another process: their places in memory differ.
    resumed = log_likelihood(
        gaussian_model(2.0), x, key=key, checkpoint=path,
        progress=lambda done, _: seen.append(done), **options,
    )  # fmt: skip
    assert seen == left
    whole = log_likelihood(gaussian_model(2.0), x, key=key, **options)
    assert resumed.records.tobytes() == whole.records.tobytes()


def test_a_file_of_other_rows_or_parameters_is_refused(tmp_path, key):
    x, path = rows(7), tmp_path / "evaluation.safetensors"
    log_likelihood(gaussian_model(2.0), x, 50, key=key, checkpoint=path)
    other = {"values": x["values"], "shift": x["shift"] + 1}
    for model, data in ((gaussian_model(2.5), x), (gaussian_model(2.0), other)):
        with pytest.raises(UsageError, match="of another model, of other data"):
            log_likelihood(model, data, 50, key=key, checkpoint=path)


def test_memory_and_threads_change_no_bit(key, monkeypatch):
    x, model = rows(9), gaussian_model(2.0)
    reference = log_likelihood(model, x, 1500, key=key).records
    monkeypatch.setattr(workers.os, "cpu_count", lambda: 5)
    threaded = log_likelihood(model, x, 1500, key=key, memory=10**12).records
    assert reference.tobytes() == threaded.tobytes()


def test_what_only_a_machine_can_is_refused_with_a_sentence(key):
    with pytest.raises(UsageError, match="'exact' lists the latent states of a Helmholtz machine"):
        log_likelihood(gaussian_model(), rows(2), method="exact")
    with pytest.raises(UsageError, match="bias_variance is for Helmholtz machines"):
        bias_variance(gaussian_model(), rows(2), key=key)
    with pytest.raises(UsageError, match="impute is for Helmholtz machines"):
        ws.impute(gaussian_model(), rows(2), key=key)


def test_rows_that_are_none_are_refused(key):
    with pytest.raises(DataError, match="data has no rows"):
        log_likelihood(gaussian_model(), rows(0), key=key)
    uneven = {"values": rows(3)["values"], "shift": rows(2)["shift"]}
    with pytest.raises(DataError, match="first dimension counts the examples"):
        log_likelihood(gaussian_model(), uneven, key=key)
