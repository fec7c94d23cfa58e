"""Primary samples, and the p-gradient of eq. 3 from some of them.

A gradient is linear in the weights of its samples, so a run with K resampled latents needs
no gradient per sample: one backward pass over the weighted sum, K samples long. Samples
pass through in blocks, so that memory does not grow with K.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, Key

from wakesleep.importance import log_likelihood_estimate, normalise
from wakesleep.inference.blocks import Block, Blocks
from wakesleep.layers import Distribution
from wakesleep.models import HelmholtzMachine

ROWS = 2048
"""Samples in a block, over all examples."""


class Primary(eqx.Module):
    """Many samples of q(h | x) for each of a few examples.

    Attributes:
        x: the examples, `[N, D]`.
        h: latents as one byte a bit, each `[N, M, H]`.
        log_weights: `[N, M]`.
    """

    x: Float[Array, "N D"]
    h: tuple[Bool[Array, "N M _"], ...]
    log_weights: Float[Array, "N M"]


def draw_primary(
    model: HelmholtzMachine, x: Float[Array, "N D"], samples: int, key: Key[Array, ""]
) -> Primary:
    """M samples for each example, one example at a time."""

    def draw(block: Block) -> tuple[tuple[Bool[Array, "1 M _"], ...], Float[Array, "1 M"]]:
        return _draw_one(model, x[block.rows], samples, jax.random.fold_in(key, block.number))

    h, log_weights = jax.tree.map(jnp.asarray, Blocks(len(x), 1).map(draw))
    return Primary(x, h, log_weights)


@eqx.filter_jit
def _draw_one(
    model: HelmholtzMachine, x: Float[Array, "1 D"], samples: int, key: Key[Array, ""]
) -> tuple[tuple[Bool[Array, "1 M _"], ...], Float[Array, "1 M"]]:
    drawn = model.draw(key, x, samples)
    return tuple(layer > 0 for layer in drawn.h), drawn.log_weights


@eqx.filter_jit
def plain_gradient(model: HelmholtzMachine, primary: Primary) -> Float[Array, " P"]:
    """The p-gradient from all primary samples once, flattened."""
    everything = jnp.broadcast_to(
        jnp.arange(primary.log_weights.shape[1]), primary.log_weights.shape
    )
    return _gradient(model, primary, everything)


@eqx.filter_jit
def resampled_deviation(
    model: HelmholtzMachine,
    primary: Primary,
    reference: Float[Array, " P"],
    count: int,
    key: Key[Array, ""],
) -> tuple[Float[Array, " P"], Float[Array, " N"]]:
    """One run with K samples: its p-gradient less the reference, and its log p̂(x)."""
    examples, samples = primary.log_weights.shape
    picks = jax.random.randint(key, (examples, count), 0, samples)
    log_weights = jnp.take_along_axis(primary.log_weights, picks, axis=1)
    return _gradient(model, primary, picks) - reference, log_likelihood_estimate(log_weights)


def _gradient(
    model: HelmholtzMachine, primary: Primary, picks: Int[Array, "N K"]
) -> Float[Array, " P"]:
    """Σ_k ω̃_k ∂/∂θ log p(x, h_k) over the picked samples, averaged over the examples."""
    examples, count = picks.shape
    weights = normalise(jnp.take_along_axis(primary.log_weights, picks, axis=1)) / examples
    blocks = -(-examples * count // ROWS)
    padding = ((0, 0), (0, -count % blocks))
    # Padding picks the first sample with weight zero.
    blocked = [
        jnp.moveaxis(jnp.pad(array, padding).reshape(examples, blocks, -1), 1, 0)
        for array in (picks, weights)
    ]

    def add(total, block):  # type: ignore[no-untyped-def]
        return total + _block_gradient(model, primary, *block), None

    start = jnp.zeros_like(ravel_pytree(eqx.filter(model.p, eqx.is_inexact_array))[0])
    return lax.scan(add, start, blocked)[0]


def _block_gradient(
    model: HelmholtzMachine,
    primary: Primary,
    picks: Int[Array, "N S"],
    weights: Float[Array, "N S"],
) -> Float[Array, " P"]:
    h = tuple(
        jnp.take_along_axis(layer, picks[..., None], axis=1).astype(jnp.float32)
        for layer in primary.h
    )

    def weighted_log_joint(p: tuple[Distribution, ...]) -> Float[Array, ""]:
        machine = HelmholtzMachine(p, model.q)
        return (weights * machine.log_joint(primary.x[:, None], h)).sum()

    return ravel_pytree(eqx.filter_grad(weighted_log_joint)(model.p))[0]
