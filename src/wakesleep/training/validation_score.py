"""The validation log-likelihood after every epoch, with the same noise each time."""

import itertools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, Key, PyTree

from wakesleep import importance
from wakesleep.data import Table
from wakesleep.inference.blocks import Block, Blocks
from wakesleep.inference.normaliser import quick_log_normaliser
from wakesleep.inference.rows import Decoder, decoder_of
from wakesleep.models import LatentModel
from wakesleep.processes.team import ALONE, Team

# Examples times samples per block: small enough for the activations to stay in cache.
ROWS_PER_BLOCK = 1000

# Stored rows per compiled call; only sets that are mapped from a file are larger.
BYTES_PER_CALL = 1 << 26


class ValidationScore:
    """Mean log p̂(x) of a set of examples.

    The randomness is fixed, so that two epochs are compared on the same noise and the
    difference between them is the model's. Under an undirected top that holds for log Z too, which
    a few short runs of annealed importance sampling estimate. The processes of a team score a part
    of the examples each, with the noise that one process would have given them.
    """

    def __init__(self, data: Table, samples: int, key: Key[Array, ""], team: Team = ALONE):
        self.data = data
        self.size = len(data)
        self.samples = samples
        self.key = key
        self._team = team
        self._decode = decoder_of(data)
        self._block = min(max(1, ROWS_PER_BLOCK // samples), max(self.size, 1))
        blocks = -(-len(Blocks(self.size, self._block)) // team.count)
        calls = -(-blocks // max(1, BYTES_PER_CALL // (self._block * data.row_bytes)))
        # Calls of equal size, so that one is compiled and little of the last one is filling.
        self._per_call = -(-blocks // max(1, calls)) or 1
        rows = Blocks(self.size, self._per_call * self._block)
        own = -(-len(rows) // team.count)
        self.calls = [rows[i] for i in range(len(rows)) if i // own == team.index]

    def __call__(self, model: LatentModel, log_z: float | None = None) -> float:
        """The mean over all examples, each counted once; with log Z, where it is known already."""
        size, sums = jnp.asarray(self.size), list[float]()
        for call in self.calls:
            first = jnp.asarray(call.number * self._per_call)
            blocks = _Blocks(self._rows(call), first, size)
            sums += _block_sums(model, blocks, self.samples, self.key, self._decode).tolist()
        # Exact, so that it does not matter which process has which blocks.
        total = math.fsum(itertools.chain.from_iterable(self._team.by_all(sums)))
        if log_z is None:
            log_z = quick_log_normaliser(model, self.key, self.data)
        return total / self.size - log_z

    def _rows(self, call: Block) -> Any:
        stored = self.data.epoch_rows(call.filled, 0, 0)
        shape = (self._per_call, self._block)
        return jax.tree.map(lambda leaf: jnp.asarray(leaf.reshape(*shape, *leaf.shape[1:])), stored)


class _Blocks(eqx.Module):
    """Rows of one call, `[N, b, ...]`: the first block's number, and how many rows are real."""

    rows: PyTree
    first: Int[Array, ""]
    size: Int[Array, ""]


@eqx.filter_jit
def _block_sums(
    model: LatentModel, blocks: _Blocks, samples: int, key: Key[Array, ""], decode: Decoder
) -> Float[Array, " N"]:
    def block_sum(block: tuple[Array, PyTree]) -> Float[Array, ""]:
        i, rows = block
        x = decode(rows)
        log_weights = importance.log_weights(model, x, samples, jax.random.fold_in(key, i))
        values = importance.log_likelihood_estimate(log_weights)
        real = i * len(values) + jnp.arange(len(values)) < blocks.size
        return jnp.where(real, values, 0).sum()

    places = blocks.first + jnp.arange(jax.tree.leaves(blocks.rows)[0].shape[0])
    return lax.map(block_sum, (places, blocks.rows))
