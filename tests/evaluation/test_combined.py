"""Evaluation over all combinations of the samples of a machine's layers."""

import jax.numpy as jnp
import numpy as np
import pytest

import wakesleep as ws
from tests.machines import small_machine
from tests.oracle import all_bits, exact_bound, exact_log_likelihood
from wakesleep.data import MaskedBits, PackedBits
from wakesleep.errors import UsageError
from wakesleep.evaluation import log_likelihood
from wakesleep.evaluation.sampling import group_size

X = np.asarray(all_bits(4), np.uint8)
MANY = np.repeat(X[[3, 9]], 3000, axis=0)
"""Two rows, each as often as a mean over their estimates wants."""


def ratios(machine, score):
    """p̂(x) / p(x) of the two rows, `[2, 3000]`."""
    exact = exact_log_likelihood(machine, jnp.asarray(X[[3, 9]], jnp.float32))
    return np.exp(score.values.reshape(2, -1) - np.asarray(exact)[:, None])


@pytest.mark.parametrize("text", ["sbn/sbn 2-3", "sbn/sbn 2-2-3", "nade/ar_sbn 2-3"])
@pytest.mark.parametrize("samples", [1, 40, 52])
def test_the_estimates_mean_is_the_exact_likelihood(text, samples):
    machine = small_machine(text, scale=0.7)
    score = log_likelihood(machine, MANY, samples, key=0, method="combined")
    found = ratios(machine, score)
    errors = found.std(axis=1) / np.sqrt(found.shape[1])
    assert np.all(np.abs(found.mean(axis=1) - 1) < 4.5 * errors)


def test_combinations_say_more_than_the_same_samples_alone():
    machine = small_machine("sbn/sbn 3-3-3", scale=1.5)
    spread = {}
    for method in ("importance", "combined"):
        score = log_likelihood(machine, MANY, 64, key=1, method=method, defensive=0)
        spread[method] = ratios(machine, score).var(axis=1)
    assert np.all(spread["combined"] < 0.8 * spread["importance"])


def test_their_intervals_hold_the_exact_value():
    machine = small_machine("sbn/sbn 2-2-3", scale=0.7)
    score = log_likelihood(machine, MANY, 512, key=2, method="combined")
    exact = np.repeat(exact_log_likelihood(machine, jnp.asarray(X[[3, 9]], jnp.float32)), 3000)
    assert np.mean(np.abs(score.values - exact) < 1.96 * score.standard_errors) > 0.9


def test_observed_cells_alone_are_scored():
    machine = small_machine("nade/sbn 2-3", scale=0.7)
    observed = np.tile(np.array([1, 0, 1, 1], np.uint8), (2000, 1))
    rows = MaskedBits(PackedBits.pack(MANY[:2000] * observed), PackedBits.pack(observed), (1,) * 4)
    score = log_likelihood(machine, rows, 40, key=3, method="combined")
    both = X[[3, 3]].copy()
    both[1, 1] = 1 - both[0, 1]
    each = exact_log_likelihood(machine, jnp.asarray(both, jnp.float32))
    found = np.exp(score.values - np.logaddexp(*np.asarray(each, np.float64)))
    assert abs(found.mean() - 1) < 4.5 * found.std() / np.sqrt(len(found))


def test_the_bound_is_that_of_single_samples():
    machine = small_machine("sbn/sbn 2-2-3", scale=0.7)
    score = log_likelihood(machine, MANY, 40, key=4, method="combined")
    exact = np.asarray(exact_bound(machine, jnp.asarray(X[[3, 9]], jnp.float32)))
    found = score.bounds.reshape(2, -1)
    errors = found.std(axis=1) / np.sqrt(found.shape[1])
    assert np.all(np.abs(found.mean(axis=1) - exact) < 4.5 * errors)


def test_samples_are_counted_as_drawn():
    score = log_likelihood(small_machine("sbn/sbn 2-3"), X, 100, key=0, method="combined")
    assert group_size(100) == 12
    assert set(score.samples.tolist()) == {108}
    assert score.to_dict()["method"] == "combined"


def test_what_it_cannot_do_is_refused():
    machine = small_machine("sbn/sbn 2-3")
    with pytest.raises(UsageError, match="leave out the tolerance"):
        log_likelihood(machine, X, 100, key=0, method="combined", tolerance=0.1)
    with pytest.raises(UsageError, match="needs a key"):
        log_likelihood(machine, X, 100, method="combined")
    functions = {name: lambda *given: given[1] for name in ("log_p", "log_q", "sample_q")}
    own = ws.FunctionModel({}, {}, **functions)
    with pytest.raises(UsageError, match="layers of a Helmholtz machine"):
        log_likelihood(own, X, 100, key=0, method="combined")
