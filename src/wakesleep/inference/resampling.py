"""Resampling: which particles go on, each as often as its weight says, on average.

Both schemes take log weights `[B, N]` and give, for every row, the numbers of N particles. Particle
n is chosen N ω̃_n times on average, so that what is estimated from the chosen ones stays unbiased.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from wakesleep.importance import normalise

Indices = Int[Array, "B N"]


def systematic(key: Key[Array, ""], log_weights: Float[Array, "B N"]) -> Indices:
    """Evenly spaced points with one random offset for each row.

    Particle n is chosen ⌊N ω̃_n⌋ times or once more: the least noise of the usual schemes, but
    the chosen ones depend on each other.
    """
    rows, n = log_weights.shape
    cumulative = jnp.cumsum(normalise(log_weights), axis=-1)
    offsets = jax.random.uniform(key, (rows, 1))
    places = jax.vmap(jnp.searchsorted)(cumulative, (offsets + jnp.arange(n)) / n)
    # Weights that add up to a little less than one leave the last point beyond them all.
    return jnp.minimum(places, n - 1)


def multinomial(key: Key[Array, ""], log_weights: Float[Array, "B N"]) -> Indices:
    """N independent choices for each row."""
    return jax.random.categorical(key, log_weights[:, None], shape=log_weights.shape)


def take(particles: Any, indices: Indices) -> Any:
    """The chosen particles of every row, from a tree of arrays `[B, N, ...]`."""

    def chosen(leaf: Array) -> Array:
        wide = jnp.expand_dims(indices, tuple(range(indices.ndim, leaf.ndim)))
        return jnp.take_along_axis(leaf, wide, axis=1)

    return jax.tree.map(chosen, particles)
