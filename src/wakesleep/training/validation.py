"""The validation log-likelihood after every epoch, with the same noise each time."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, Key, UInt8

from wakesleep import importance
from wakesleep.data import Table
from wakesleep.model import HelmholtzMachine
from wakesleep.training.loop import unpack

# Examples times samples per block: small enough for the activations to stay in cache.
_ROWS_PER_BLOCK = 1000

# Packed rows per compiled call; only sets that are mapped from a file are larger.
_BYTES_PER_CALL = 1 << 26


class Validation:
    """Mean log p̂(x) of a set of examples.

    The randomness is fixed, so that two epochs are compared on the same noise and the
    difference between them is the model's.
    """

    def __init__(self, data: Table, samples: int, key: Key[Array, ""]):
        self.data = data
        self.size = len(data)
        self.samples = samples
        self.key = key
        self._block = min(max(1, _ROWS_PER_BLOCK // samples), max(self.size, 1))
        blocks = -(-self.size // self._block)
        block_bytes = self._block * -(-data.features // 8)
        calls = -(-blocks // max(1, _BYTES_PER_CALL // block_bytes))
        # Calls of equal size, so that one is compiled and little of the last one is filling.
        self._firsts = range(0, blocks, -(-blocks // max(1, calls)) or 1)

    def __call__(self, model: HelmholtzMachine) -> float:
        """The mean over all examples, each counted once."""
        size, total = jnp.asarray(self.size), 0.0
        for first in self._firsts:
            blocks = jnp.asarray(self._blocks(first))
            total += float(_total(model, blocks, jnp.asarray(first), size, self.samples, self.key))
        return total / self.size

    def _blocks(self, first: int) -> np.ndarray:
        rows = np.arange(first * self._block, (first + self._firsts.step) * self._block)
        packed = self.data.epoch_rows(np.minimum(rows, self.size - 1), 0, 0)
        return packed.reshape(self._firsts.step, self._block, -1)


@eqx.filter_jit
def _total(
    model: HelmholtzMachine,
    blocks: UInt8[Array, "N b bytes"],
    first: Int[Array, ""],
    size: Int[Array, ""],
    samples: int,
    key: Key[Array, ""],
) -> Float[Array, ""]:
    def add(total: Array, block: tuple[Array, Array]) -> tuple[Array, None]:
        i, rows = block
        x = unpack(rows, model.features)
        log_weights = importance.log_weights(model, x, samples, jax.random.fold_in(key, i))
        values = importance.log_likelihood_estimate(log_weights)
        real = i * rows.shape[0] + jnp.arange(rows.shape[0]) < size
        return total + jnp.where(real, values, 0).sum(), None

    places = first + jnp.arange(blocks.shape[0])
    total, _ = lax.scan(add, jnp.zeros(()), (places, blocks))
    return total
