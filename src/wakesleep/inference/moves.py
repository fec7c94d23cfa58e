"""Metropolis moves that leave p(x, h | what is known) as it is, from any start.

Three kinds for the latents, because each is blind where another sees: proposals of q, which
are good where q is; dreams of p, which reach every mode however bad q is; and flips of single
units. Unknown bits are proposed from p(x | h) within what is known. That proposal's terms cancel
against p's own, so that only the evidence enters a ratio; where the units are independent given h
this makes a Gibbs draw of the bits, which is always accepted. Bits that are not independent are
also proposed from a random place on, those before it held.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax
from jaxtyping import Array, Bool, Float, Key

from wakesleep.inference.conditions import Conditions
from wakesleep.inference.metropolis import metropolis
from wakesleep.inference.population import (
    Particles,
    expected_bits,
    log_prior,
    parents_of,
    turn_one,
)
from wakesleep.models import HelmholtzMachine, Latents

Each = Float[Array, "B K"]


class Moved(NamedTuple):
    """What some sweeps of moves led to.

    Attributes:
        particles: the population after the last sweep.
        probabilities: P(x_i = 1 | what is known), averaged over the second half of the sweeps.
        accepted: the accepted share of q's proposals for all latents, or of those for the
            unknown bits if that is less.
    """

    particles: Particles
    probabilities: Float[Array, "B D"]
    accepted: Float[Array, " B"]


class Target(NamedTuple):
    """p(x, h | what is known): the machine, and what is known."""

    model: HelmholtzMachine
    conditions: Conditions


def move(target: Target, key: Key[Array, ""], particles: Particles, sweeps: int) -> Moved:
    """Sweep after sweep over the latents and the unknown bits of all particles."""
    model = target.model

    def step(particles: Particles, sweep_key: Key[Array, ""]) -> tuple[Particles, tuple]:
        moved, accepted = sweep(target, sweep_key, particles)
        expected = expected_bits(model, moved.x, _logits(target, moved))
        return moved, (expected.mean(1), accepted)

    last, (probabilities, accepted) = lax.scan(step, particles, jax.random.split(key, sweeps))
    return Moved(last, probabilities[sweeps // 2 :].mean(0), accepted.mean(0).min(0))


def sweep(
    target: Target, key: Key[Array, ""], particles: Particles
) -> tuple[Particles, Float[Array, "2 B"]]:
    """Every kind of move once, and the accepted shares of q's proposals and of the bits'."""
    key_q, key_flips, key_dream, key_bits, key_tail = jax.random.split(key, 5)
    latents_accepted = jnp.ones(particles.x.shape[0])
    if particles.h:
        particles, latents_accepted = _follow_q(target.model, key_q, particles)
        particles = _flip(target, key_flips, particles)
    if particles.h and not target.model.undirected:
        # A dream of an RBM takes a long chain, and even then its density cancels only nearly.
        particles = _dream(target, key_dream, particles)
    no_change = jnp.zeros(particles.x.shape[:-1])
    particles, accepted = _move_jointly(target, key_bits, particles, particles.h, no_change)
    if not target.model.p[0].factorial:
        particles, tail_accepted = _move_tail(target, key_tail, particles)
        accepted = accepted | tail_accepted
    return particles, jnp.stack([latents_accepted, accepted.mean(-1)])


def _follow_q(
    model: HelmholtzMachine, key: Key[Array, ""], particles: Particles
) -> tuple[Particles, Float[Array, " B"]]:
    """q's proposals for the latents from each layer upwards, the topmost first."""
    x, h = particles
    accepted = jnp.ones(x.shape[:-1], bool)
    for lowest in reversed(range(len(h))):
        key_q, key_accept = jax.random.split(jax.random.fold_in(key, lowest))
        below = x if lowest == 0 else h[lowest - 1]
        proposed = _propose_by_q(model, key_q, below, lowest)
        gain = _log_weight(model, below, proposed, lowest)
        gain -= _log_weight(model, below, h[lowest:], lowest)
        upper, accepted = metropolis(_log_uniform(key_accept, gain), gain, proposed, h[lowest:])
        h = (*h[:lowest], *upper)
    return Particles(x, h), accepted.mean(-1)


def _propose_by_q(
    model: HelmholtzMachine, key: Key[Array, ""], below: Float[Array, "B K W"], lowest: int
) -> Latents:
    """q's latents from this layer upwards, given the layer below it."""
    seen = model.q_input(below) if lowest == 0 else below
    proposed: list[Array] = []
    for layer in model.q[lowest:]:
        key, key_layer = jax.random.split(key)
        proposed.append(layer.sample(key_layer, proposed[-1] if proposed else seen))
    return tuple(proposed)


def _log_weight(
    model: HelmholtzMachine, below: Float[Array, "B K W"], upper: Latents, lowest: int
) -> Each:
    """log p(below, upper) − log q(upper | below)."""
    values, parents = (below, *upper), (*upper, jnp.zeros(0))
    log_p = [
        layer.log_prob(value, parent)
        for layer, value, parent in zip(model.p[lowest:], values, parents, strict=True)
    ]
    seen = model.q_input(below) if lowest == 0 else below
    log_q = [
        layer.log_prob(value, parent)
        for layer, value, parent in zip(model.q[lowest:], upper, (seen, *upper[:-1]), strict=True)
    ]
    return sum(log_p, start=jnp.zeros(())) - sum(log_q, start=jnp.zeros(()))


def _flip(target: Target, key: Key[Array, ""], particles: Particles) -> Particles:
    """In each latent layer, propose to turn over one unit of every particle."""
    for level in range(len(particles.h)):
        key_unit, key_move = jax.random.split(jax.random.fold_in(key, level))
        h = particles.h
        proposed = turn_one(h, level, key_unit)
        gain = log_prior(target.model, proposed) - log_prior(target.model, h)
        if level == 0:
            particles, _ = _move_jointly(target, key_move, particles, proposed, gain)
        else:
            latents, _ = metropolis(_log_uniform(key_move, gain), gain, proposed, h)
            particles = Particles(particles.x, latents)
    return particles


def _dream(target: Target, key: Key[Array, ""], particles: Particles) -> Particles:
    """Propose latents from p(h); p(h) cancels."""
    shape = particles.x.shape[:-1]
    key_h, key_move = jax.random.split(key)
    proposed = target.model.dream_latents(key_h, shape)
    return _move_jointly(target, key_move, particles, proposed, jnp.zeros(shape))[0]


def _move_jointly(
    target: Target, key: Key[Array, ""], particles: Particles, proposed: Latents, gain: Each
) -> tuple[Particles, Bool[Array, "B K"]]:
    """Propose latents together with unknown bits drawn from p(x | proposed latents).

    `gain` is the log ratio of everything else: p(h) over whatever proposed it.
    """
    visible, conditions = target.model.visible, target.conditions
    key_x, key_accept = jax.random.split(key)
    pre = visible.preactivations(parents_of(proposed))
    x, _, log_evidence = conditions.draw(visible, key_x, pre, particles.x.shape[1])
    before = visible.preactivations(parents_of(particles.h))
    gain = gain + log_evidence - conditions.log_evidence(visible, particles.x, before)
    return metropolis(_log_uniform(key_accept, gain), gain, Particles(x, proposed), particles)


def _move_tail(
    target: Target, key: Key[Array, ""], particles: Particles
) -> tuple[Particles, Bool[Array, "B K"]]:
    """Propose unknown bits from a random place in the layer's order on; what is before cancels.

    Groups of which some states are allowed are held: they move with all others, or not at all.
    """
    visible, conditions, x = target.model.visible, target.conditions, particles.x
    key_place, key_x, key_accept = jax.random.split(key, 3)
    starts = jnp.asarray(_group_places(target.model))
    place = jax.random.randint(key_place, x.shape[:-1], 0, x.shape[-1])
    held = conditions.fixed | (starts < place[..., None])
    for group in conditions.partial:
        held = held.at[..., group.slice].set(True)
    pre = visible.preactivations(parents_of(particles.h))
    proposed, logits = visible.draw_unobserved(key_x, x, held, pre)
    before = _logits(target, particles)
    gain = _log_held(target, proposed, logits) - _log_held(target, x, before)
    return metropolis(
        _log_uniform(key_accept, gain), gain, Particles(proposed, particles.h), particles
    )


def _log_held(target: Target, x: Float[Array, "B K D"], logits: Float[Array, "B K D"]) -> Each:
    """log p of fixed units and of groups with allowed states, at the states that they have."""
    held = target.conditions.fixed
    for group in target.conditions.partial:
        held = held.at[..., group.slice].set(True)
    return target.model.visible.log_prob_observed(x, logits, held)


def _group_places(model: HelmholtzMachine) -> npt.NDArray[np.int64]:
    """For every unit, the place of its group's first in the layer's order, `[D]`."""
    first = np.cumsum((0, *model.groups[:-1]))
    return np.repeat([model.visible.place(int(unit)) for unit in first], model.groups)


def _logits(target: Target, particles: Particles) -> Float[Array, "B K D"]:
    logits = target.model.visible.conditional_logits(particles.x, parents_of(particles.h))
    return jnp.broadcast_to(logits, particles.x.shape)


def _log_uniform(key: Key[Array, ""], like: Each) -> Each:
    return jnp.log(jax.random.uniform(key, like.shape))
