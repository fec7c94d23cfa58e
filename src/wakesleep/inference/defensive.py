"""A defensive proposal: most latents from q, a share from where q may never look.

Importance sampling with q alone is unbiased, but nothing in its weights shows a mode of the
posterior that q never draws: the estimate is low, and its stated error small. So a few of the
samples are drawn from a broadened q, whose logits are multiplied by `COOLING`; a few are the
latents of dreams, h ~ p(h), which go wherever p does; and a few stand near the states n(h) that a
short search found for this very x (`neighbourhoods.py`). All are weighted by the density of the
whole mixture (the balance heuristic of Veach & Guibas 1995; Owen & Zhou 2000),

    ω = p(x, h) / ((1 − a − b − c) q(h | x) + a q_tempered(h | x) + b p(h) + c n(h)),

so that the mean weight is p(x) whatever q is, no weight is above p(x | h) / b, and where q is good
the effective sample size loses at most the share a + b + c. log p(h) is a part of log p(x, h);
under an undirected top it lacks its normaliser, and there the broadened q has the dreams' share.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key

from wakesleep.inference.neighbourhoods import CENTRES, Neighbourhoods, Starts, search
from wakesleep.layers import Layer, Preactivations
from wakesleep.models import HelmholtzMachine
from wakesleep.models.bit_model import Visible
from wakesleep.models.helmholtz import Latents

COOLING = 0.5
"""What the broadened q's logits are multiplied by."""

STARTS = 32
"""Latents that a search begins from."""


class Proposals(NamedTuple):
    """How many of an example's samples come from each proposal.

    Attributes:
        q: from q.
        tempered: from the broadened q.
        dreamt: from p(h).
        near: from the neighbourhoods of what a search found.
    """

    q: int
    tempered: int
    dreamt: int
    near: int = 0

    @classmethod
    def of(cls, machine: HelmholtzMachine, samples: int, share: float | int) -> "Proposals":
        """`share` of the samples, rounded down, in three equal parts.

        In two where a search would cost more than its samples are worth.
        """
        guarding = int(samples * share) if machine.q else 0
        near = guarding // 3 if guarding // 3 >= CENTRES else 0
        each = (guarding - near) // 2
        dreamt = 0 if machine.undirected else each
        return cls(samples - near - 2 * each, 2 * each - dreamt, dreamt, near)

    @classmethod
    def to_start(cls, machine: HelmholtzMachine) -> "Proposals":
        """Where a search begins: q's and, if they can be drawn, as many dreams."""
        return cls(STARTS, 0, 0) if machine.undirected else cls(STARTS // 2, 0, STARTS // 2)

    @property
    def samples(self) -> int:
        """K."""
        return sum(self)


class DefensiveDraw(NamedTuple):
    """Weights of samples in a random order, so that any K of them are as good as any other.

    Attributes:
        log_weights: log ω, `[B, K]`.
        bounds: the single-sample variational bound of q, over its own samples alone, `[B]`.
    """

    log_weights: Float[Array, "B K"]
    bounds: Float[Array, " B"]


def find_neighbourhoods(
    machine: HelmholtzMachine, x: Visible, key: Key[Array, ""]
) -> Neighbourhoods:
    """Search from latents of q and of dreams, for each example."""
    key_starts, key_search = jax.random.split(key)
    starts = _weigh(machine, x, Proposals.to_start(machine), None, key_starts)
    return search(machine, x, Starts(starts.h, starts.log_weights), key_search)


def defensive_draw(
    machine: HelmholtzMachine,
    x: Visible,
    proposals: Proposals,
    near: Neighbourhoods | None,
    key: Key[Array, ""],
) -> DefensiveDraw:
    """Draw and score the latents of all proposals for each example, in one pass upwards."""
    key_draw, key_order = jax.random.split(key)
    drawn = _weigh(machine, x, proposals, near, key_draw)
    log_weights = jax.random.permutation(key_order, drawn.log_weights, axis=1)
    return DefensiveDraw(log_weights, drawn.log_single[:, : proposals.q].mean(1))


class _Weighed(NamedTuple):
    """Latents of several proposals, weighted by the density of all and by q's alone."""

    h: Latents
    log_weights: Float[Array, "B K"]
    log_single: Float[Array, "B K"]


def _weigh(
    machine: HelmholtzMachine,
    x: Visible,
    proposals: Proposals,
    near: Neighbourhoods | None,
    key: Key[Array, ""],
) -> _Weighed:
    """Latents of q first, then of the broadened q, of dreams and of the neighbourhoods."""
    key_q, key_dream, key_near = jax.random.split(key, 3)
    inputs = machine.q_input(x)
    decided = []
    if proposals.dreamt:
        decided.append(machine.dream_latents(key_dream, (len(inputs), proposals.dreamt)))
    if near is not None:
        decided.append(near.sample(key_near, proposals.near))
    h, log_q, log_tempered = _ascend(machine, inputs, proposals, _joined(decided), key_q)
    first, *above = machine.joint_terms(key_q, x, h, proposals.samples)
    log_prior = sum(above, start=jnp.zeros(()))
    log_p = first + log_prior
    densities = [(proposals.q, log_q), (proposals.tempered, log_tempered)]
    if proposals.dreamt:
        densities.append((proposals.dreamt, log_prior))
    if near is not None:
        densities.append((proposals.near, near.log_prob(h)))
    shares = [jnp.log(count / proposals.samples) + density for count, density in densities]
    return _Weighed(h, log_p - jax.nn.logsumexp(jnp.stack(shares), axis=0), log_p - log_q)


def _joined(parts: list[Latents]) -> Latents | None:
    """The latents of all parts, one after another."""
    layers = zip(*parts, strict=True)
    return tuple(jnp.concatenate(layer, axis=1) for layer in layers) if parts else None


def _ascend(
    machine: HelmholtzMachine,
    inputs: Float[Array, "B _"],
    proposals: Proposals,
    decided: Latents | None,
    key: Key[Array, ""],
) -> tuple[Latents, Float[Array, "B K"], Float[Array, "B K"]]:
    """Latents of all proposals, with their log-probabilities under q and under the broadened q."""
    below, h = inputs[:, None, :], []
    log_q = log_tempered = jnp.zeros(())
    for number, (layer, layer_key) in enumerate(
        zip(machine.q, jax.random.split(key, len(machine.q)), strict=True)
    ):
        given = jnp.zeros((len(inputs), 0, layer.size)) if decided is None else decided[number]
        draw = _draw_at_once if layer.factorial else _draw_in_turn
        below, scores = draw(layer, layer_key, layer.preactivations(below), proposals, given)
        h.append(below)
        log_q, log_tempered = log_q + scores[0], log_tempered + scores[1]
    return tuple(h), log_q, log_tempered


Scored = tuple[Float[Array, "B K D"], tuple[Float[Array, "B K"], Float[Array, "B K"]]]
"""A layer's values, and their log-probabilities under q and under the broadened q."""


def _draw_at_once(
    layer: Layer,
    key: Key[Array, ""],
    pre: Preactivations,
    proposals: Proposals,
    decided: Float[Array, "B _ D"],
) -> Scored:
    """Units that are independent of each other, drawn and scored in one pass.

    All samples are drawn from q as if they were its own; the few that are not then take their
    places, which is less work than cutting most of the logits out.
    """
    emission, logits = layer.emission, layer.logits(jnp.zeros(layer.size), pre)
    key_q, key_tempered = jax.random.split(key)
    batch = (len(decided), proposals.q + proposals.tempered + decided.shape[1])
    values, log_q = emission.sample(key_q, logits, batch)
    # What an example's samples share has one row for all of them.
    apart = logits if logits.shape[1] == 1 else logits[:, proposals.q :]
    broad = COOLING * (apart if apart.shape[1] == 1 else apart[:, : proposals.tempered])
    tempered, _ = emission.sample(key_tempered, broad, (len(decided), proposals.tempered))
    others = jnp.concatenate([tempered, decided], axis=1)
    values = lax.dynamic_update_slice(values, others, (0, proposals.q, 0))
    log_q = lax.dynamic_update_slice(log_q, emission.log_prob(others, apart), (0, proposals.q))
    return values, (log_q, emission.log_prob(values, COOLING * logits))


def _draw_in_turn(
    layer: Layer,
    key: Key[Array, ""],
    pre: Preactivations,
    proposals: Proposals,
    decided: Float[Array, "B _ D"],
) -> Scored:
    """Units drawn one after another, x_i = [logit_i > noise_i].

    Noise that is divided by `COOLING` draws as logits that are multiplied by it would, and infinite
    noise makes a unit what was decided before.
    """
    emission, drawn = layer.emission, proposals.q + proposals.tempered
    scale = jnp.where(jnp.arange(drawn) < proposals.q, 1.0, 1 / COOLING)[:, None]
    noise = emission.noise(key, (len(decided), drawn, layer.size)) * scale
    forced = jnp.where(decided > 0, -jnp.inf, jnp.inf)
    values, logits = layer.draw_units(jnp.concatenate([noise, forced], axis=1), pre)
    return values, (emission.log_prob(values, logits), emission.log_prob(values, COOLING * logits))
