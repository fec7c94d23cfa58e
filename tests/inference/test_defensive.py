"""The defensive proposal: its densities by enumeration, its mean, and what q alone would miss."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.machines import small_machine
from tests.oracle import all_bits, exact_log_likelihood
from wakesleep.architecture import build
from wakesleep.evaluation import log_likelihood
from wakesleep.inference.defensive import (
    Proposals,
    _ascend,
    defensive_draw,
    find_neighbourhoods,
)
from wakesleep.models import Masked

X = np.asarray(all_bits(4), np.float32)
KINDS = ["sbn/sbn 2-3", "sbn/nade 2-2", "nade/ar_sbn 3", "ar_sbn/darn 2-2"]


def every_state(machine, rows):
    """All latents, as dreams that each example could have: layers of `[B, states, H]`."""
    sizes = machine.latent_sizes
    bits = np.asarray(all_bits(sum(sizes)), np.float32)
    parts = np.split(bits, np.cumsum(sizes)[:-1], axis=1)
    return tuple(jnp.broadcast_to(part, (rows, *part.shape)) for part in parts)


@pytest.mark.parametrize("kind", KINDS)
def test_both_densities_of_q_are_right_and_sum_to_one(kind, key):
    machine = small_machine(kind, scale=2.0)
    states = every_state(machine, len(X))
    nothing = Proposals(0, 0, states[0].shape[1])
    h, log_q, log_tempered = _ascend(machine, jnp.asarray(X), nothing, states, key)
    for given, seen in zip(states, h, strict=True):
        np.testing.assert_array_equal(given, seen)
    np.testing.assert_allclose(
        log_q, machine.log_q(states, jnp.asarray(X[:, None])), rtol=1e-4, atol=1e-4
    )
    for density in (log_q, log_tempered):
        np.testing.assert_allclose(np.exp(density).sum(1), 1, rtol=1e-4)
    # Broader: every state of the most confident example is likelier than the least likely was.
    assert (log_tempered.min(1) > log_q.min(1)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_each_proposal_draws_from_its_density(kind, key):
    machine, draws = small_machine(kind, scale=1.0), 40_000
    x, places = jnp.asarray(X[5:6]), 2 ** np.arange(sum(machine.latent_sizes))[::-1]
    states = every_state(machine, 1)
    dreams = machine.dream_latents(key, (1, draws))
    wanted = _ascend(machine, x, Proposals(0, 0, states[0].shape[1]), states, key)
    h, *_ = _ascend(machine, x, Proposals(draws, draws, draws), dreams, key)
    prior = sum(machine.log_joint_terms(x[:, None], states)[1:])
    drawn = np.split((np.concatenate(h, axis=-1)[0] @ places).astype(int), 3)
    for numbers, density in zip(drawn, (*wanted[1:], prior), strict=True):
        expected = np.exp(np.asarray(density[0], np.float64))
        seen = np.bincount(numbers, minlength=len(expected)) / draws
        assert (np.abs(seen - expected) < 5 * np.sqrt(expected / draws) + 1e-6).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_weight_is_the_likelihood_whatever_q_is(kind, key):
    machine = small_machine(kind, scale=2.0)
    exact = np.exp(exact_log_likelihood(machine, X))
    x, proposals = jnp.asarray(X), Proposals(800, 400, 400, 400)
    near = find_neighbourhoods(machine, x, jax.random.fold_in(key, 1))
    drawn = defensive_draw(machine, x, proposals, near, key)
    weights = np.exp(np.asarray(drawn.log_weights, np.float64))
    # Any part of the columns has the same mean: an evaluation drops what its last block has over.
    for part in (weights, weights[:, :701], weights[:, 1300:]):
        error = part.std(1) / np.sqrt(part.shape[1])
        assert (np.abs(part.mean(1) - exact) < 4.5 * error).all()
    assert (drawn.bounds < np.log(exact)).all()


def test_missing_cells_are_summed_over(key):
    machine = small_machine("sbn/sbn 2-3", scale=1.0)
    observed = np.array([[1, 1, 0, 1]] * 2, np.float32)
    rows = np.array([[0, 1, 0, 1], [1, 1, 0, 0]], np.float32)
    masked = Masked(jnp.asarray(rows), jnp.asarray(observed))
    near = find_neighbourhoods(machine, masked, jax.random.fold_in(key, 1))
    proposals = Proposals(850, 50, 50, 50)
    weights = np.exp(defensive_draw(machine, masked, proposals, near, key).log_weights)
    filled = [np.exp(exact_log_likelihood(machine, rows + np.eye(4)[2] * bit)) for bit in (0, 1)]
    error = weights.std(1) / np.sqrt(1000)
    assert (np.abs(weights.mean(1) - sum(filled)) < 4.5 * error).all()


@pytest.mark.parametrize("kind", ["sbn/sbn 2-3", "nade/ar_sbn 3"])
def test_neighbourhoods_draw_from_a_density_that_sums_to_one(kind, key):
    machine, draws = small_machine(kind, scale=2.0), 40_000
    near = find_neighbourhoods(machine, jnp.asarray(X), key)
    density = np.exp(np.asarray(near.log_prob(every_state(machine, len(X))), np.float64))
    np.testing.assert_allclose(density.sum(1), 1, rtol=1e-5)
    places = 2 ** np.arange(sum(machine.latent_sizes))[::-1]
    drawn = (np.concatenate(near.sample(key, draws), axis=-1) @ places).astype(int)
    for numbers, expected in zip(drawn, density, strict=True):
        seen = np.bincount(numbers, minlength=len(expected)) / draws
        assert (np.abs(seen - expected) < 5 * np.sqrt(expected / draws) + 1e-6).all()


def test_a_search_ends_near_the_posterior(key):
    machine = small_machine("sbn/sbn 4-4", scale=4.0)
    near = find_neighbourhoods(machine, jnp.asarray(X), key)
    states = every_state(machine, len(X))
    joint = np.asarray(machine.log_joint(jnp.asarray(X)[:, None], states))
    posterior = np.exp(joint - joint.max(1, keepdims=True))
    posterior /= posterior.sum(1, keepdims=True)
    by = {
        name: (posterior * np.exp(np.asarray(density))).sum(1).mean()
        for name, density in (
            ("near", near.log_prob(states)),
            ("q", machine.log_q(states, jnp.asarray(X)[:, None])),
        )
    }
    assert by["near"] > 5 * by["q"]


def missing_mode():
    """Two modes of the posterior, of which q as good as never draws the smaller one."""
    machine = build("sbn/sbn 1", features=4, key=jax.random.key(0))
    weights = jnp.asarray([[2.0], [2.0], [-2.0], [-2.0]])
    parts = lambda m: (m.p[0].W, m.p[0].b, m.p[1].b, m.q[0].W, m.q[0].b)  # noqa: E731
    return eqx.tree_at(
        parts,
        machine,
        (weights, jnp.zeros(4), jnp.zeros(1), jnp.zeros((1, 4)), jnp.full(1, 12.0)),
    )


def test_a_mode_that_q_misses_is_found(key):
    machine, x = missing_mode(), np.array([[0, 1, 0, 1]], np.uint8)
    (exact,) = log_likelihood(machine, x, method="exact").values
    alone = log_likelihood(machine, x, 1000, key=key, defensive=0)
    assert alone.effective_samples[0] > 900
    assert exact - alone.values[0] > 0.1
    assert exact - alone.values[0] > 10 * alone.standard_errors[0]
    score = log_likelihood(machine, x, 1000, key=key)
    assert abs(score.values[0] - exact) < 3 * score.standard_errors[0] < 0.5


def test_what_it_costs_is_the_share_at_most(key):
    machine = small_machine("sbn/sbn 2-3", scale=0.1)
    alone, guarded = (
        log_likelihood(machine, X.astype(np.uint8), 1000, key=key, defensive=share)
        for share in (0, 0.1)
    )
    assert (guarded.effective_samples > 0.9 * alone.effective_samples).all()
    np.testing.assert_allclose(guarded.bounds.mean(), alone.bounds.mean(), atol=0.02)


def test_shares_are_rounded_down_and_an_undirected_top_has_no_dreams():
    machine = small_machine("sbn/sbn 2-3")
    assert Proposals.of(machine, 1000, 0.1) == (901, 33, 33, 33)
    assert Proposals.of(machine, 200, 0.1) == (180, 10, 10, 0)
    assert Proposals.of(machine, 19, 0.1) == (19, 0, 0, 0)
    assert Proposals.of(small_machine("dbn 2-3"), 1000, 0.1) == (901, 66, 0, 33)
    assert Proposals.of(small_machine("sbn"), 1000, 0.1) == (1000, 0, 0, 0)
