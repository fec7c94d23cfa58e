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
import numpy.typing as npt
from jax import lax
from jaxtyping import Array, Int, Key, PyTree, UInt8, UInt32

from wakesleep import pools
from wakesleep.data import MaskedBits, PackedBits
from wakesleep.inference.blocks import Block, Blocks, Progress
from wakesleep.inference.rows import Decoder, decoder_of
from wakesleep.models import BitModel

ROWS_PER_CALL = 512
"""The one height that is compiled; a call computes only as many of its rows as are real."""

Rows = PackedBits | MaskedBits

OfOne = Callable[[BitModel, Any, Key[Array, ""]], Any]
"""From a model, one example `[1, ...]` and a key to a tree of arrays; hashable, so that it
compiles once."""


def map_rows(
    of_rows: Callable[[Rows], OfOne],
    model: BitModel,
    rows: Rows,
    key: Key[Array, ""],
    progress: Progress | None = None,
) -> Any:
    """What a function makes of every row, in the rows' order: a tree of arrays `[N, ...]`.

    `of_rows` gives the function for rows that all have gaps, or none.
    """
    parts, done, results = _by_gaps(rows), 0, []
    for _, part in parts:
        told = None if progress is None else _further(progress, done, len(rows))
        results.append(_map_alike(of_rows(part), model, part, key, told))
        done += len(part)
    order = np.argsort(np.concatenate([numbers for numbers, _ in parts]))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[order], *results)


def _by_gaps(rows: Rows) -> list[tuple[npt.NDArray[np.intp], Rows]]:
    """Rows without gaps as plain bits, those with some, and the numbers of both.

    So a complete row is computed as it would be alone, whatever the others lack.
    """
    if not isinstance(rows, MaskedBits):
        return [(np.arange(len(rows)), rows)]
    gaps = ~rows.observed[:].all(axis=1)
    whole, others = np.flatnonzero(~gaps), np.flatnonzero(gaps)
    parts: list[tuple[npt.NDArray[np.intp], Rows]] = [(whole, rows.bits.take(whole))]
    parts += [(others, rows.take(others))]
    return [part for part in parts if len(part[0])]


def _further(progress: Progress, before: int, rows: int) -> Progress:
    return lambda done, _: progress(before + done, rows)


def _map_alike(
    of_one: OfOne, model: BitModel, rows: Rows, key: Key[Array, ""], progress: Progress | None
) -> Any:
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


def _block_of(rows: Rows, block: Block) -> _Rows:
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
