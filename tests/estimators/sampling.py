"""Many independent gradients of an estimator at a fixed machine and state."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tests.machines import FEATURES
from tests.oracle import all_bits
from wakesleep.estimators import Batch

X = all_bits(FEATURES)[1::5]
BATCH = Batch(X, jnp.arange(len(X)))


def matrix(tree):
    """Stacked gradients `[R, ...]` as one matrix `[R, parameters]`."""
    leaves = [np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(tree)]
    return np.concatenate([leaf.reshape(len(leaf), -1) for leaf in leaves], axis=1)


def raw_estimates(estimator, machine, key, repetitions, state=None):
    """Steps from one state, with a gradient of the machine's structure stacked over them."""
    start = estimator.init(machine, len(X), key) if state is None else state

    @eqx.filter_jit
    def many(keys):
        return jax.lax.map(lambda k: estimator.step(machine, start, BATCH, k).gradients, keys)

    return many(jax.random.split(key, repetitions))


def estimates(estimator, machine, key, repetitions, state=None):
    """What p and q would climb: two matrices `[repetitions, parameters]`."""
    drawn = raw_estimates(estimator, machine, key, repetitions, state)
    return -matrix(drawn.p), -matrix(drawn.q)


def walk(estimator, machine, key, steps):
    """Steps in turn at a machine that stands still: the last state, and q's and p's gradients."""

    @eqx.filter_jit
    def run(state, keys):
        def one(state, key):
            gradients, state, _ = estimator.step(machine, state, BATCH, key)
            return state, (gradients.p, gradients.q)

        return jax.lax.scan(one, state, keys)

    start = estimator.init(machine, len(X), key)
    state, (p, q) = run(start, jax.random.split(key, steps))
    return state, -matrix(p), -matrix(q)


def assert_mean_is(samples, exact, slack=0.0):
    error = samples.std(0, ddof=1) / np.sqrt(len(samples))
    assert np.all(np.abs(samples.mean(0) - exact) < 4.5 * error + slack + 1e-5)
