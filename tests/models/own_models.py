"""What the tests of models of one's own share: the documentation's blocks, and their gradients."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import wakesleep as ws
from tests.oracle import flat
from tests.pages import python_blocks, run_block
from wakesleep.estimators import Batch


def page_module(name):
    """A code block of the page as a module."""
    (block,) = [each for each in python_blocks("docs/own-models.md") if each.name == name]
    return run_block(block)


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
