"""The unit of work: some examples times some samples, one compiled call.

A tile's shape follows from the machine and K alone, and its key from its place in the set
and among the samples. So the same arguments give the same numbers, to the bit, whatever the
memory budget and wherever an evaluation was interrupted.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int, Key

from wakesleep.importance import log_weights
from wakesleep.models import HelmholtzMachine

ROWS = 1024
"""Samples in a tile, over all its examples: enough to fill a matrix product."""

FEWEST_ROWS = 16

LARGEST_ARRAY = 1 << 26
"""Bytes of a tile's widest array; only machines with layers above 16,384 units come near."""

ARRAYS_ALIVE = 8
"""Arrays of a layer's width that a tile holds at a time, generously."""


def tile_rows(model: HelmholtzMachine) -> int:
    """Samples in a tile of this machine."""
    widest = max(model.features, *model.latent_sizes, 1)
    return max(FEWEST_ROWS, min(ROWS, LARGEST_ARRAY // (4 * widest)))


def units_scored(model: HelmholtzMachine) -> int:
    """Units of p's and q's layers that a sample passes through."""
    return model.features + 2 * sum(model.latent_sizes)


def bytes_of(rows: int, width: int) -> int:
    """Memory for a tile of so many samples, roughly and from above."""
    return 4 * ARRAYS_ALIVE * rows * width


@dataclass(frozen=True)
class Tiling:
    """How K samples per example are cut.

    Attributes:
        total: K.
        examples: examples in a tile; more than one only where K is small.
        samples: samples per example in a tile. The last tile of an example may draw a few
            too many, which are dropped: one shape is compiled.
    """

    total: int
    examples: int
    samples: int

    @classmethod
    def of(cls, samples: int, rows: int) -> "Tiling":
        """Blocks of equal size, as few as possible."""
        blocks = -(-samples // rows)
        per_block = -(-samples // blocks)
        return cls(samples, max(1, rows // per_block), per_block)

    @property
    def blocks(self) -> int:
        """Tiles per example."""
        return -(-self.total // self.samples)


@eqx.filter_jit
def tile_log_weights(
    model: HelmholtzMachine,
    x: Float[Array, "E D"],
    samples: int,
    key: Key[Array, ""],
    place: Int[Array, "2"],
) -> Float[Array, "E S"]:
    """log ω of one tile; `place` is (tile of examples, block of samples)."""
    tile_key = jax.random.fold_in(jax.random.fold_in(key, place[0]), place[1])
    return log_weights(model, x, samples, tile_key)
