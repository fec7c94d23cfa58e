"""The order in which an autoregressive layer takes its units: as they stand, from the last to the
first, by the columns of a picture, or shuffled by a seed.

A layer keeps a number alone. The order follows from it and from the groups of the layer's units,
the same for ever: whole groups change places, and a group's units stay together in their own order.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, Int

from wakesleep.data.checks import frozen_stream
from wakesleep.layers.emission import Emission
from wakesleep.options import Whole

REVERSED = -1
ORDER = Whole(least=-(10**9), most=10**9)
"""The rule of the option `order`: 0 for units as they stand, -1 for the last group first, -W for
the columns of a picture W wide, the last group first; any other number is a seed."""


@dataclass(frozen=True)
class UnitOrder:
    """Which unit has which place.

    Attributes:
        units: for every place, its unit; `()` where units are taken as they stand.
        places: for every unit, its place.
        following: for every place, the next that may be 1 when it is 1, as `Emission.following`
            has it for units as they stand.
    """

    units: tuple[int, ...]
    places: tuple[int, ...]
    following: tuple[int, ...]

    def place(self, unit: int) -> int:
        """When a unit is drawn: after all units of lower places."""
        return self.places[unit] if self.units else unit

    def take(self, values: Float[Array, "*batch D"]) -> Float[Array, "*batch D"]:
        """Values of units, one for every place."""
        return _moved(self.units, self.places, values) if self.units else values

    def put_back(self, values: Float[Array, "*batch D"]) -> Float[Array, "*batch D"]:
        """Values of places, one for every unit."""
        return _moved(self.places, self.units, values) if self.units else values


@lru_cache(maxsize=256)
def unit_order(seed: int, emission: Emission, size: int) -> UnitOrder:
    """The order of `size` units that emit so; the seed is a value of the option `order`."""
    if seed == 0:
        return UnitOrder((), (), emission.following)
    sizes = np.asarray(emission.group_sizes or (1,) * size)
    count = len(sizes)
    groups = frozen_stream(seed).permutation(count) if seed > 0 else _columns(-seed, count)[::-1]
    starts = np.cumsum(sizes) - sizes
    units = np.concatenate([np.arange(starts[g], starts[g] + sizes[g]) for g in groups])
    ends = np.repeat(np.cumsum(sizes[groups]), sizes[groups])
    following = tuple(ends.tolist()) if emission.following else ()
    return UnitOrder(tuple(units.tolist()), tuple(np.argsort(units).tolist()), following)


def _columns(width: int, count: int) -> Int[np.ndarray, " G"]:
    """The pixels of a picture that is stored row by row, column by column."""
    return np.argsort(np.arange(count) % width, kind="stable")


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _moved(to: tuple[int, ...], back: tuple[int, ...], values: Array) -> Array:
    """Values at the places `to`; `back` undoes it, so that gradients are gathered as well."""
    del back
    return values[..., np.asarray(to)]


def _moved_forward(to: tuple[int, ...], back: tuple[int, ...], values: Array) -> tuple[Array, None]:
    return _moved(to, back, values), None


def _moved_backward(
    to: tuple[int, ...], back: tuple[int, ...], saved: Any, g: Array
) -> tuple[Array]:
    del to, saved
    return (g[..., np.asarray(back)],)


_moved.defvjp(_moved_forward, _moved_backward)
