"""log p̂(x) and posterior means of rows, each row's numbers its own.

scikit-learn asks that a row's answer depends neither on the rows around it nor on its place
among them. So a row's randomness comes from its bits, and rows are computed one at a time,
because a matrix product rounds differently in matrices of another height.
"""

import zlib
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax
from jaxtyping import Array, Float, Int, Key, PyTree, UInt8, UInt32

from wakesleep import importance
from wakesleep.data import MaskedBits, PackedBits
from wakesleep.inference.blocks import Block, Blocks
from wakesleep.inference.rows import Decoder, decoder_of
from wakesleep.models import BitModel

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
    model: BitModel, bits: PackedBits | MaskedBits, samples: int, key: Key[Array, ""]
) -> Inferred:
    """Weigh K samples of q for every row; without latents log p(x) is exact.

    Where cells are missing, it is log p of those that were observed.
    """
    samples = model.exact_samples(masked=isinstance(bits, MaskedBits)) or samples

    def infer(block: Block) -> tuple[Array, Array]:
        return _infer_block(model, _block_of(bits, block), samples, key, decoder_of(bits))

    values, means = Blocks(len(bits), ROWS_PER_CALL).map(infer)
    return Inferred(values.astype(np.float64), means.astype(np.float64))


class _Rows(NamedTuple):
    """The packed rows of a block, a number made of each one's bits, and how many are its own."""

    packed: PyTree[UInt8[Array, "R _"]]
    digests: UInt32[Array, " R"]
    real: Int[Array, ""]


def _block_of(bits: PackedBits | MaskedBits, block: Block) -> _Rows:
    packed = bits.epoch_rows(block.filled, 0, 0)
    whole = np.concatenate(jax.tree.leaves(packed), axis=1)
    digests = np.array([zlib.crc32(row.tobytes()) for row in whole], np.uint32)
    on_device = jax.tree.map(jnp.asarray, packed)
    return _Rows(on_device, jnp.asarray(digests), jnp.asarray(len(block)))


@eqx.filter_jit
def _infer_block(
    model: BitModel, rows: _Rows, samples: int, key: Key[Array, ""], decode: Decoder
) -> tuple[Float[Array, " R"], Float[Array, "R H"]]:
    def infer(i: Array, inferred: tuple[Array, Array]) -> tuple[Array, Array]:
        values, means = inferred
        x = decode(jax.tree.map(lambda leaf: leaf[i][None], rows.packed))
        row_key = jax.random.fold_in(key, rows.digests[i])
        value, mean = _infer_one(model, x, samples, row_key)
        return values.at[i].set(value), means.at[i].set(mean)

    height = len(rows.digests)
    nothing = jnp.zeros(height), jnp.zeros((height, sum(model.latent_sizes)))
    return lax.fori_loop(0, rows.real, infer, nothing)


def _infer_one(
    model: BitModel, x: Any, samples: int, key: Key[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, " H"]]:
    """`x` is one example, `[1, ...]`."""
    drawn = model.draw(key, x, samples)
    weights = importance.normalise(drawn.log_weights)[0]
    means = [jnp.zeros(0), *(weights @ layer[0] for layer in drawn.h)]
    return importance.log_likelihood_estimate(drawn.log_weights)[0], jnp.concatenate(means)
