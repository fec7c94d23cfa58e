"""Examples of which some groups of units were not observed."""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class Masked(NamedTuple):
    """Bits, and which groups of them were observed.

    Attributes:
        x: 0 and 1, `[..., D]`; 0 where nothing was observed.
        observed: 1 where a group was observed, 0 where it is missing, `[..., G]`.
    """

    x: Float[Array, "... D"]
    observed: Float[Array, "... G"]

    def units(self, groups: Sequence[int]) -> Float[Array, "... D"]:
        """The mask for every unit of the groups, `[..., D]`."""
        numbers = np.repeat(np.arange(len(groups)), groups)
        return jnp.take(self.observed, numbers, axis=-1)
