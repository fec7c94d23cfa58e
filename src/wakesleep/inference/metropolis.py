"""The Metropolis-Hastings rule on a tree of particles."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Each = Float[Array, "*particles"]


def metropolis(
    log_uniform: Each, log_ratio: Each, proposed: Any, current: Any
) -> tuple[Any, Bool[Array, "*particles"]]:
    """Go to the proposed states where the ratio is above a uniform draw; stay where it is not.

    Under this π stays as it is, if the ratio is π(proposed) / π(current) times the probability
    of proposing the way back over that of proposing the way there.

    Args:
        log_uniform: the logarithms of uniform draws, one per particle.
        log_ratio: the logarithms of the ratios.
        proposed: a tree of arrays `[*particles, ...]`.
        current: another of the same structure.

    Returns:
        The states, and which of them were accepted.
    """
    accepted = log_ratio > log_uniform

    def choose(new: Array, old: Array) -> Array:
        wide = jnp.expand_dims(accepted, tuple(range(accepted.ndim, new.ndim)))
        return jnp.where(wide, new, old)

    return jax.tree.map(choose, proposed, current), accepted
