"""Minibatches of packed rows, in an order that depends on the seed and the epoch alone."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from wakesleep.data import Table

# A call of the compiled loop is at most this many steps, so that progress is shown and
# Ctrl-C is answered within seconds even where an epoch takes minutes.
STEPS_PER_CALL = 500


class Call(NamedTuple):
    """Minibatches for one call: `rows` is `[S, B, bytes]`, of which the first `steps` are real."""

    rows: np.ndarray
    first: int
    steps: int


def steps_per_epoch(examples: int, batch_size: int) -> int:
    """Steps that show every example at least once."""
    return -(-examples // batch_size)


def epoch_calls(
    data: Table, batch_size: int, seed: int, epoch: int, start: int = 0
) -> Iterator[Call]:
    """The epoch's minibatches from step `start` on.

    Every example is seen; the last minibatch is filled up with the permutation's first rows.
    Rows are gathered call by call, each while the one before it is trained on: of data that is
    mapped from a file only the permutation, four bytes a row, and two calls are in memory.
    """
    calls = _gathered(data, batch_size, seed, epoch, start)
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, calls, None)
        while call := coming.result():
            coming = reader.submit(next, calls, None)
            yield call


def _gathered(data: Table, batch_size: int, seed: int, epoch: int, start: int) -> Iterator[Call]:
    steps = steps_per_epoch(len(data), batch_size)
    order = epoch_order(len(data), seed, epoch)
    capacity = min(steps, STEPS_PER_CALL)
    for first in range(start, steps, capacity):
        count = min(capacity, steps - first)
        places = np.arange(first * batch_size, (first + count) * batch_size)
        chosen = data.epoch_rows(order.take(places, mode="wrap"), seed, epoch)
        rows = np.zeros((capacity, batch_size, chosen.shape[1]), np.uint8)
        rows[:count] = chosen.reshape(count, batch_size, -1)
        yield Call(rows, first, count)


def epoch_order(examples: int, seed: int, epoch: int) -> np.ndarray:
    """A permutation of the examples, in as few bytes as their number allows."""
    order = np.arange(examples, dtype=np.int32 if examples < 2**31 else np.int64)
    np.random.default_rng((seed, epoch)).shuffle(order)
    return order
