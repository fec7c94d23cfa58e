"""Minibatches of packed rows, in an order that depends on the seed and the epoch alone."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wakesleep.data import PackedBits

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
    data: PackedBits, batch_size: int, seed: int, epoch: int, start: int = 0
) -> Iterator[Call]:
    """The epoch's minibatches from step `start` on.

    Every example is seen; the last minibatch is filled up with the permutation's first rows.
    Rows are gathered call by call, so memory-mapped data stays on the disk.
    """
    steps = steps_per_epoch(len(data), batch_size)
    order = np.random.default_rng((seed, epoch)).permutation(len(data))
    order = np.resize(order, steps * batch_size).reshape(steps, batch_size)
    capacity = min(steps, STEPS_PER_CALL)
    for first in range(start, steps, capacity):
        chosen = order[first : first + capacity]
        rows = np.zeros((capacity, batch_size, data.rows.shape[1]), np.uint8)
        rows[: len(chosen)] = data.rows[chosen]
        yield Call(rows, first, len(chosen))
