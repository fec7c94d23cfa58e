"""States near the posterior's modes, found by a short search before anything is weighted.

A state of the latents that neither q nor p(h) draws often can hold most of the posterior. For each
example a few latents of q and of dreams are drawn, chosen by their weights, and improved by turning
over single units, Metropolis' way. The states that they end in are the centres of a proposal of its
own: a centre at random, each of whose units is turned over with a small probability. The search
only decides where that proposal stands, so that weights by its density are right whatever it found.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key

from wakesleep.inference.metropolis import metropolis
from wakesleep.inference.population import turn_one
from wakesleep.inference.resampling import take
from wakesleep.models import HelmholtzMachine
from wakesleep.models.bit_model import Visible
from wakesleep.models.helmholtz import Latents

CENTRES = 8
"""Centres of an example."""

SWEEPS = 4
"""In each, one unit of every layer is proposed to turn over."""


class Starts(NamedTuple):
    """Weighted latents of each example, layers of `[B, S, H]`, to begin from."""

    h: Latents
    log_weights: Float[Array, "B S"]


class _Climbers(NamedTuple):
    h: Latents
    log_joint: Float[Array, "B C"]


class Neighbourhoods(NamedTuple):
    """Centres and their surroundings.

    Attributes:
        centres: layers of `[B, C, H]`.
    """

    centres: Latents

    @property
    def _log_turned(self) -> tuple[Array, Array]:
        """Logarithms of the probabilities that a unit differs from its centre's, or does not."""
        units = sum(layer.shape[-1] for layer in self.centres)
        return -jnp.log1p(units), -jnp.log1p(1 / units)

    def sample(self, key: Key[Array, ""], count: int) -> Latents:
        """So many latents for each example, layers of `[B, count, H]`."""
        rows, among = self.centres[0].shape[:2]
        key_centre, key_units = jax.random.split(key)
        chosen = take(self.centres, jax.random.randint(key_centre, (rows, count), 0, among))
        share = jnp.exp(self._log_turned[0])
        return tuple(
            jnp.abs(
                layer - jax.random.bernoulli(jax.random.fold_in(key_units, n), share, layer.shape)
            )
            for n, layer in enumerate(chosen)
        )

    def log_prob(self, h: Latents) -> Float[Array, "B K"]:
        """The log-probability of being drawn here, whichever the centre."""
        pairs = zip(h, self.centres, strict=True)
        apart = sum((_differing(layer, centre) for layer, centre in pairs), start=jnp.zeros(()))
        units = sum(layer.shape[-1] for layer in h)
        turned, kept = self._log_turned
        each = apart * turned + (units - apart) * kept
        return jax.nn.logsumexp(each, axis=-1) - jnp.log(each.shape[-1])


def _differing(h: Float[Array, "B K H"], centres: Float[Array, "B C H"]) -> Float[Array, "B K C"]:
    """In how many units each of the latents differs from each of the centres."""
    # |h - c| is h (1 - 2c) + c for bits: one pass over h.
    return jnp.einsum("bkh,bch->bkc", h, 1 - 2 * centres) + centres.sum(-1)[:, None, :]


def search(
    machine: HelmholtzMachine, x: Visible, starts: Starts, key: Key[Array, ""]
) -> Neighbourhoods:
    """Choose some of the starts by their weights and improve them."""
    key_chosen, key_cells, key_sweeps = jax.random.split(key, 3)
    shape = (starts.log_weights.shape[0], CENTRES)
    chosen = jax.random.categorical(key_chosen, starts.log_weights[:, None], shape=shape)

    def log_joint(h: Latents) -> Float[Array, "B C"]:
        return sum(machine.joint_terms(key_cells, x, h, CENTRES), start=jnp.zeros(()))

    def sweep(climbers: _Climbers, sweep_key: Key[Array, ""]) -> tuple[_Climbers, None]:
        for level in range(len(climbers.h)):
            key_unit, key_accept = jax.random.split(jax.random.fold_in(sweep_key, level))
            turned = turn_one(climbers.h, level, key_unit)
            proposed = _Climbers(turned, log_joint(turned))
            log_uniform = jnp.log(jax.random.uniform(key_accept, shape))
            gain = proposed.log_joint - climbers.log_joint
            climbers, _ = metropolis(log_uniform, gain, proposed, climbers)
        return climbers, None

    h = take(starts.h, chosen)
    first = _Climbers(h, log_joint(h))
    climbers, _ = lax.scan(sweep, first, jax.random.split(key_sweeps, SWEEPS))
    return Neighbourhoods(climbers.h)
