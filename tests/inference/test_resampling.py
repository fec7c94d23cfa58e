"""Resampling: each particle as often as its weight says."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wakesleep.inference.resampling import multinomial, systematic, take

SCHEMES = {"systematic": systematic, "multinomial": multinomial}
# Rows of very different weights, none of them normalised; one particle has all of the last row.
LOG_WEIGHTS = jnp.log(
    jnp.array(
        [
            [0.5, 0.25, 0.125, 0.125, 1e-9],
            [3.0, 1.0, 1.0, 2.0, 5.0],
            [1e-30, 1.0, 1e-30, 1e-30, 1e-30],
        ]
    )
)
SHARES = np.asarray(jax.nn.softmax(LOG_WEIGHTS, axis=1), np.float64)
RUNS = 4000


def counts(scheme, key):
    """How often each particle was chosen, in every run: `[runs, B, N]`."""
    keys = jax.random.split(key, RUNS)
    chosen = eqx.filter_jit(jax.vmap(lambda k: scheme(k, LOG_WEIGHTS)))(keys)
    return np.asarray(jax.nn.one_hot(chosen, LOG_WEIGHTS.shape[1]).sum(2), np.float64)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_the_expected_number_of_copies_is_that_of_the_weights(scheme, key):
    copies = counts(scheme, key)
    assert (copies.sum(2) == 5).all()
    error = copies.std(0) / np.sqrt(RUNS)
    assert np.all(np.abs(copies.mean(0) - 5 * SHARES) < 4.5 * error + 1e-5)


def test_systematic_copies_are_off_by_less_than_one_and_multinomial_ones_are_binomial(key):
    expected = 5 * SHARES
    copies = counts(systematic, key)
    assert np.all(np.abs(copies - expected) < 1 + 1e-5)
    variance = 5 * SHARES * (1 - SHARES)
    np.testing.assert_allclose(counts(multinomial, key).var(0), variance, rtol=0.15, atol=0.01)


def test_rows_are_drawn_independently(key):
    same = jnp.zeros((400, 6))
    for scheme in SCHEMES.values():
        chosen = np.asarray(scheme(key, same + jnp.log(jnp.arange(1.0, 7.0))))
        assert len(np.unique(chosen, axis=0)) > 1


def test_what_is_taken_is_whole_particles_of_the_same_row():
    x = jnp.arange(2 * 3 * 4.0).reshape(2, 3, 4)
    tree = {"x": x, "score": x[..., 0], "deep": (x[..., None],), "none": None}
    indices = jnp.array([[2, 2, 0], [1, 0, 1]])
    taken = take(tree, indices)
    for row, places in enumerate(np.asarray(indices)):
        np.testing.assert_array_equal(taken["x"][row], x[row][places])
        np.testing.assert_array_equal(taken["score"][row], x[row, places, 0])
        np.testing.assert_array_equal(taken["deep"][0][row, ..., 0], x[row][places])
