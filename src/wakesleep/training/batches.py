"""Minibatches of rows, in an order that depends on the seed and the epoch alone."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numpy as np

from wakesleep.data import Table

# A call of the compiled loop is at most this many steps, so that progress is shown and
# Ctrl-C is answered within seconds even where an epoch takes minutes.
STEPS_PER_CALL = 500


class BatchBlock(NamedTuple):
    """Minibatches for one call of the compiled loop, of which the first `steps` are real.

    Attributes:
        rows: as the table stores them, an array or a tree of arrays `[S, B, ...]`.
        numbers: the rows' numbers in the training set, `[S, B]`.
        first: the number within the epoch of the first step.
        steps: how many are real.
    """

    rows: Any
    numbers: np.ndarray
    first: int
    steps: int


def steps_per_epoch(examples: int, batch_size: int) -> int:
    """Steps that show every example at least once."""
    return -(-examples // batch_size)


def epoch_blocks(
    data: Table, batch_size: int, seed: int, epoch: int, start: int = 0
) -> Iterator[BatchBlock]:
    """The epoch's minibatches from step `start` on.

    Every example is seen; the last minibatch is filled up with the permutation's first rows.
    Rows are gathered block by block, each while the one before it is trained on: of data that is
    mapped from a file only the permutation, four bytes a row, and two blocks are in memory.
    """
    blocks = _gathered(data, batch_size, seed, epoch, start)
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, blocks, None)
        while block := coming.result():
            coming = reader.submit(next, blocks, None)
            yield block


def _gathered(
    data: Table, batch_size: int, seed: int, epoch: int, start: int
) -> Iterator[BatchBlock]:
    steps = steps_per_epoch(len(data), batch_size)
    order = epoch_order(len(data), seed, epoch)
    capacity = min(steps, STEPS_PER_CALL)
    for first in range(start, steps, capacity):
        count = min(capacity, steps - first)
        places = np.arange(first * batch_size, (first + count) * batch_size)
        numbers = order.take(places, mode="wrap")
        chosen = data.epoch_rows(numbers, seed, epoch)

        def blocked(leaf: np.ndarray, count: int = count) -> np.ndarray:
            block = np.zeros((capacity, batch_size, *leaf.shape[1:]), leaf.dtype)
            block[:count] = leaf.reshape(count, batch_size, *leaf.shape[1:])
            return block

        yield BatchBlock(jax.tree.map(blocked, chosen), blocked(numbers), first, count)


def epoch_order(examples: int, seed: int, epoch: int) -> np.ndarray:
    """A permutation of the examples, in as few bytes as their number allows."""
    order = np.arange(examples, dtype=np.int32 if examples < 2**31 else np.int64)
    np.random.default_rng((seed, epoch)).shuffle(order)
    return order
