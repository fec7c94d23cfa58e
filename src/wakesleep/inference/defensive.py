"""A defensive proposal: most latents from q, a share from where q may never look.

Importance sampling with q alone is unbiased, but nothing in its weights shows a mode of the
posterior that q never draws: the estimate is low, and its stated error small. So a few of the
samples are drawn from a broadened q, whose logits are multiplied by `COOLING`, and a few are the
latents of dreams, h ~ p(h), which go wherever p does. All are weighted by the density of the whole
mixture (the balance heuristic of Veach & Guibas 1995; Owen & Zhou 2000),

    ω = p(x, h) / ((1 − a − b) q(h | x) + a q_tempered(h | x) + b p(h)),

so that the mean weight is p(x) whatever q is, no weight is above p(x | h) / b, and where q is good
the effective sample size loses at most the share a + b. log p(h) is a part of log p(x, h); under
an undirected top it lacks its normaliser, and there the whole share is the broadened q's.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from wakesleep.layers import Layer
from wakesleep.models import HelmholtzMachine
from wakesleep.models.bit_model import Visible
from wakesleep.models.helmholtz import Latents

COOLING = 0.5
"""What the broadened q's logits are multiplied by."""


class Proposals(NamedTuple):
    """How many of an example's samples come from q, from the broadened q and from dreams."""

    q: int
    tempered: int
    dreamt: int

    @classmethod
    def of(cls, machine: HelmholtzMachine, samples: int, share: float | int) -> "Proposals":
        """`share` of the samples, rounded down, half from the broadened q and half dreamt."""
        each = 0 if not machine.q else int(samples * share / 2)
        dreamt = 0 if machine.undirected else each
        return cls(samples - 2 * each, 2 * each - dreamt, dreamt)

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


def defensive_draw(
    machine: HelmholtzMachine, x: Visible, proposals: Proposals, key: Key[Array, ""]
) -> DefensiveDraw:
    """Draw and score the latents of all proposals for each example, in one pass upwards."""
    key_q, key_dream, key_order = jax.random.split(key, 3)
    inputs = machine.q_input(x)
    shape = (inputs.shape[0], proposals.dreamt)
    dreams = machine.dream_latents(key_dream, shape) if proposals.dreamt else None
    h, log_q, log_tempered = _ascend(machine, inputs, proposals, dreams, key_q)
    first, *above = machine.joint_terms(key_q, x, h, proposals.samples)
    log_prior = sum(above, start=jnp.zeros(()))
    log_p = first + log_prior
    densities = [(proposals.q, log_q), (proposals.tempered, log_tempered)]
    if proposals.dreamt:
        densities.append((proposals.dreamt, log_prior))
    shares = [jnp.log(count / proposals.samples) + density for count, density in densities]
    log_weights = log_p - jax.nn.logsumexp(jnp.stack(shares), axis=0)
    bounds = (log_p - log_q)[:, : proposals.q].mean(1)
    return DefensiveDraw(jax.random.permutation(key_order, log_weights, axis=1), bounds)


def _ascend(
    machine: HelmholtzMachine,
    inputs: Float[Array, "B _"],
    proposals: Proposals,
    dreams: Latents | None,
    key: Key[Array, ""],
) -> tuple[Latents, Float[Array, "B K"], Float[Array, "B K"]]:
    """Latents of all proposals, with their log-probabilities under q and under the broadened q.

    A layer draws x_i = [logit_i > noise_i]. Noise that is divided by `COOLING` draws as logits
    that are multiplied by it would, and infinite noise makes a unit what it was in a dream.
    """
    drawn = proposals.q + proposals.tempered
    scale = jnp.where(jnp.arange(drawn) < proposals.q, 1.0, 1 / COOLING)[:, None]
    below, h = inputs[:, None, :], []
    log_q = log_tempered = jnp.zeros(())
    for number, (layer, layer_key) in enumerate(
        zip(machine.q, jax.random.split(key, len(machine.q)), strict=True)
    ):
        noise = layer.emission.noise(layer_key, (len(inputs), drawn, layer.size)) * scale
        if dreams is not None:
            decided = jnp.where(dreams[number] > 0, -jnp.inf, jnp.inf)
            noise = jnp.concatenate([noise, decided], axis=1)
        below, scores = _draw_layer(layer, noise, below)
        h.append(below)
        log_q, log_tempered = log_q + scores[0], log_tempered + scores[1]
    return tuple(h), log_q, log_tempered


def _draw_layer(
    layer: Layer, noise: Float[Array, "B K D"], below: Float[Array, "B _ C"]
) -> tuple[Float[Array, "B K D"], tuple[Float[Array, "B K"], Float[Array, "B K"]]]:
    values, logits = layer.draw_units(noise, layer.preactivations(below))
    emission = layer.emission
    return values, (emission.log_prob(values, logits), emission.log_prob(values, COOLING * logits))
