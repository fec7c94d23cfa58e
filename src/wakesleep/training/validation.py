"""The validation log-likelihood after every epoch: one compiled call, the same noise each time."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, Key, UInt8

from wakesleep import importance
from wakesleep.data import PackedBits
from wakesleep.model import HelmholtzMachine
from wakesleep.training.loop import unpack

# Examples times samples per block: small enough for the activations to stay in cache.
_ROWS_PER_BLOCK = 1000


class Validation:
    """Mean log p̂(x) of a set of examples.

    The randomness is fixed, so that two epochs are compared on the same noise and the
    difference between them is the model's.
    """

    def __init__(self, data: PackedBits, samples: int, key: Key[Array, ""]):
        self.size = len(data)
        self.samples = samples
        self.key = key
        block = min(max(1, _ROWS_PER_BLOCK // samples), max(self.size, 1))
        padded = np.resize(data.rows, (-(-self.size // block) * block, data.rows.shape[1]))
        self._blocks = jnp.asarray(padded.reshape(-1, block, data.rows.shape[1]))

    def __call__(self, model: HelmholtzMachine) -> float:
        """The mean over all examples, each counted once."""
        total = _total(model, self._blocks, jnp.asarray(self.size), self.samples, self.key)
        return float(total) / self.size


@eqx.filter_jit
def _total(
    model: HelmholtzMachine,
    blocks: UInt8[Array, "N b bytes"],
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

    total, _ = lax.scan(add, jnp.zeros(()), (jnp.arange(blocks.shape[0]), blocks))
    return total
