"""The moves leave the exact posterior as it is, and lead to it from elsewhere."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.inference.oracle import frequencies, imputations, posterior_draws
from tests.inference.test_imputation import MACHINES, MASKS, X, machine_of
from tests.oracle import all_bits, layer_logits
from wakesleep.inference.conditions import observed
from wakesleep.inference.moves import Target, move
from wakesleep.inference.population import Particles
from wakesleep.layers import LAYERS, create_layer, initialisation

COUNT = 20_000
MASK = np.array(MASKS["scattered"])


def move_all(machine, key, x, h, sweeps):
    particles = Particles(x[None], tuple(layer[None] for layer in h))
    target = Target(machine, observed(jnp.asarray(X)[None], jnp.asarray(MASK)[None]))
    return eqx.filter_jit(move)(target, key, particles, sweeps)


def assert_same(drawn, exact, count):
    error = np.sqrt(exact * (1 - exact) / count)
    assert np.all(np.abs(drawn - exact) < 4.5 * error + 1e-6)


@pytest.mark.parametrize("text", MACHINES)
def test_moves_leave_the_posterior_as_it_is(text, key):
    machine = machine_of(text)
    x, h = posterior_draws(machine, X, MASK, key, COUNT)
    after = move_all(machine, jax.random.fold_in(key, 1), x, h, 1)
    fits, exact, _ = imputations(machine, X, MASK)
    assert_same(frequencies(after.particles.x[0], fits), exact, COUNT)
    for new, old in zip(after.particles.h, h, strict=True):
        assert np.any(np.asarray(new[0]) != np.asarray(old))
        means, error = np.asarray(old.mean(0)), 0.5 / np.sqrt(COUNT)
        np.testing.assert_allclose(np.asarray(new[0].mean(0)), means, atol=6 * error)


@pytest.mark.parametrize("text", MACHINES)
def test_moves_lead_to_the_posterior_from_one_state(text, key):
    machine = machine_of(text)
    h = tuple(jnp.zeros((COUNT, size)) for size in machine.latent_sizes)
    x = jnp.where(MASK, 0.0, jnp.asarray(X)) * jnp.ones((COUNT, 1))
    after = move_all(machine, key, x, h, 60)
    fits, exact, _ = imputations(machine, X, MASK)
    assert_same(frequencies(after.particles.x[0], fits), exact, COUNT)


@pytest.mark.parametrize("kind", LAYERS)
def test_clamped_draws_follow_each_unit_s_own_conditional(kind, key):
    layer = create_layer(kind, key, 5, 3, initialisation("paper"))
    layer = jax.tree.map(lambda leaf: leaf + jax.random.normal(key, leaf.shape), layer)
    y = jnp.array([1.0, 0.0, 1.0])
    rows = jnp.broadcast_to(jnp.asarray(X), (COUNT, 5))
    parents = jnp.broadcast_to(y, (COUNT, 3))
    pre = layer.preactivations(parents)
    x, logits = layer.draw_unobserved(key, rows, ~jnp.asarray(MASK), pre)
    fits = all_bits(5)[np.all(np.asarray(all_bits(5))[:, ~MASK] == X[~MASK], axis=1)]
    signed = (2 * fits - 1) * layer_logits(layer, fits, y[None])
    exact = np.exp(-np.where(MASK, np.logaddexp(0, -signed), 0).sum(-1))
    assert_same(frequencies(x, np.asarray(fits)), exact, COUNT)
    np.testing.assert_allclose(logits, layer.conditional_logits(x, parents), atol=1e-4)
