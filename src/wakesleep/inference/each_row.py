"""Rows computed one at a time, each with randomness of its own: a row's answer is its own.

scikit-learn asks that a row's answer depends neither on the rows around it nor on its place
among them. So a row's randomness comes from its bits, and rows are computed one at a time,
because a matrix product rounds differently in matrices of another height.
"""

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int, Key, PyTree, UInt8, UInt32

from wakesleep import pools
from wakesleep.data import MaskedBits, PackedBits
from wakesleep.inference.blocks import Block, Blocks, Progress
from wakesleep.inference.rows import Decoder, decoder_of
from wakesleep.models import BitModel

ROWS_PER_CALL = 512
"""The one height that is compiled; a call computes only as many of its rows as are real."""

OfOne = Callable[[BitModel, Any, Key[Array, ""]], Any]
"""From a model, one example `[1, ...]` and a key to a tree of arrays; hashable, so that it
compiles once."""


def map_rows(
    of_one: OfOne,
    model: BitModel,
    rows: PackedBits | MaskedBits,
    key: Key[Array, ""],
    progress: Progress | None = None,
) -> Any:
    """What a function makes of every row, in the rows' order: a tree of arrays `[N, ...]`."""

    common, blocks = (of_one, model, key, decoder_of(rows)), Blocks(len(rows), ROWS_PER_CALL)
    pool = pools.current()
    if pool is None:
        return blocks.map(lambda block: _of_part(common, _block_of(rows, block)), progress)
    parts = ((block.number, _block_of(rows, block)) for block in blocks)
    done, rows_done = dict[int, Any](), 0
    for number, part in pool.each(_of_part, common, parts):
        done[number], rows_done = part, rows_done + len(blocks[number])
        if progress:
            progress(rows_done, len(rows))
    return blocks.map(lambda block: done[block.number])


def _of_part(common: tuple[OfOne, BitModel, Key[Array, ""], Decoder], rows: "_Rows") -> Any:
    of_one, model, key, decode = common
    return jax.tree.map(np.asarray, _of_block(of_one, model, rows, key, decode))


class _Rows(NamedTuple):
    """The packed rows of a block, a number made of each one's bits, and how many are its own."""

    packed: PyTree[UInt8[Array, "R _"]]
    digests: UInt32[Array, " R"]
    real: Int[Array, ""]


def _block_of(rows: PackedBits | MaskedBits, block: Block) -> _Rows:
    packed = rows.epoch_rows(block.filled, 0, 0)
    whole = np.concatenate(jax.tree.leaves(packed), axis=1)
    digests = np.array([zlib.crc32(row.tobytes()) for row in whole], np.uint32)
    on_device = jax.tree.map(jnp.asarray, packed)
    return _Rows(on_device, jnp.asarray(digests), jnp.asarray(len(block)))


@eqx.filter_jit
def _of_block(
    of_one: OfOne, model: BitModel, rows: _Rows, key: Key[Array, ""], decode: Decoder
) -> Any:
    def one(i: Array) -> Any:
        x = decode(jax.tree.map(lambda leaf: leaf[i][None], rows.packed))
        return of_one(model, x, jax.random.fold_in(key, rows.digests[i]))

    def put(i: Array, results: Any) -> Any:
        return jax.tree.map(lambda all_, own: all_.at[i].set(own), results, one(i))

    shapes = jax.eval_shape(one, jnp.asarray(0))
    height = len(rows.digests)
    nothing = jax.tree.map(lambda leaf: jnp.zeros((height, *leaf.shape), leaf.dtype), shapes)
    return lax.fori_loop(0, rows.real, put, nothing)
