"""log p̂(x) and posterior means of rows, each row's numbers its own.

scikit-learn asks that a row's answer depends neither on the rows around it nor on its place
among them. So a row's randomness comes from its bits, and rows are computed one at a time,
because a matrix product rounds differently in matrices of another height.
"""

import zlib
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax
from jaxtyping import Array, Float, Int, Key, UInt8, UInt32

from wakesleep import importance
from wakesleep.data import PackedBits
from wakesleep.inference.blocks import Block, Blocks
from wakesleep.inference.rows import unpack
from wakesleep.models import HelmholtzMachine

ROWS_PER_CALL = 512
"""The one height that is compiled; a call computes only as many of its rows as are real."""


class Inferred(NamedTuple):
    """What importance weighting says of each row.

    Attributes:
        log_likelihood: log p̂(x), `[N]`.
        means: E[h | x] of all latents, from the layer next to the data upwards, `[N, H]`;
            `[N, 0]` without latents.
    """

    log_likelihood: npt.NDArray[np.float64]
    means: npt.NDArray[np.float64]


def infer_rows(
    model: HelmholtzMachine, bits: PackedBits, samples: int, key: Key[Array, ""]
) -> Inferred:
    """Weigh K samples of q for every row; without latents log p(x) is exact."""
    if not model.latent_sizes:
        samples = 1

    def infer(block: Block) -> tuple[Array, Array]:
        return _infer_block(model, _block_of(bits, block), samples, key)

    values, means = Blocks(len(bits), ROWS_PER_CALL).map(infer)
    return Inferred(values.astype(np.float64), means.astype(np.float64))


class _Rows(NamedTuple):
    """The packed rows of a block, a number made of each one's bits, and how many are its own."""

    packed: UInt8[Array, "R bytes"]
    digests: UInt32[Array, " R"]
    real: Int[Array, ""]


def _block_of(bits: PackedBits, block: Block) -> _Rows:
    packed = bits.epoch_rows(block.filled, 0, 0)
    digests = np.array([zlib.crc32(row.tobytes()) for row in packed], np.uint32)
    return _Rows(jnp.asarray(packed), jnp.asarray(digests), jnp.asarray(len(block)))


@eqx.filter_jit
def _infer_block(
    model: HelmholtzMachine, rows: _Rows, samples: int, key: Key[Array, ""]
) -> tuple[Float[Array, " R"], Float[Array, "R H"]]:
    def infer(i: Array, inferred: tuple[Array, Array]) -> tuple[Array, Array]:
        values, means = inferred
        x = unpack(rows.packed[i], model.features)
        row_key = jax.random.fold_in(key, rows.digests[i])
        value, mean = _infer_one(model, x, samples, row_key)
        return values.at[i].set(value), means.at[i].set(mean)

    height = len(rows.packed)
    nothing = jnp.zeros(height), jnp.zeros((height, sum(model.latent_sizes)))
    return lax.fori_loop(0, rows.real, infer, nothing)


def _infer_one(
    model: HelmholtzMachine, x: Float[Array, " D"], samples: int, key: Key[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, " H"]]:
    drawn = model.draw(key, x[None], samples)
    weights = importance.normalise(drawn.log_weights)[0]
    means = [jnp.zeros(0), *(weights @ layer[0] for layer in drawn.h)]
    return importance.log_likelihood_estimate(drawn.log_weights)[0], jnp.concatenate(means)
