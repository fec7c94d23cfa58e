"""Minibatches of rows, in an order that depends on the seed and their place in the run alone."""

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np

from wakesleep.data import Dataset, Table
from wakesleep.data.shifted_rows import ShiftedRows, shifted_rows
from wakesleep.data.smoothed_rows import SmoothedRows, smoothed_rows
from wakesleep.errors import UsageError
from wakesleep.recipe import Recipe

# A call of the compiled loop is at most this many steps, so that progress is shown and
# Ctrl-C is answered within seconds even where an epoch takes minutes.
STEPS_PER_CALL = 500

# From so many rows on somebody may want two processes, and then has the bits of one. That costs
# one process up to a sixth of its time (docs/benchmarks-processes.md).
WORTH_PROCESSES = 10_000


Rows = Table | SmoothedRows | ShiftedRows
"""Training rows as they are, or as every pass changes them."""


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


def steps_per_epoch(examples: int, batch_size: int, epoch_updates: int = 0) -> int:
    """Those that were asked for; or as many as show every example at least once."""
    return epoch_updates or -(-examples // batch_size)


def with_shares(recipe: Recipe, examples: int, processes: int = 1) -> Recipe:
    """The recipe with the number of shares that a minibatch of so many examples has.

    Refuses minibatches that cannot be cut so, with as many shares for each process.
    """
    if not recipe.shares:
        even = all(min(phase.batch_size, examples) % 2 == 0 for phase in recipe.expand())
        shares = 2 if even and examples >= WORTH_PROCESSES else 1
        recipe = dataclasses.replace(recipe, shares=shares)
    for phase in recipe.expand():
        rows, shares = min(phase.batch_size, examples), phase.shares_among(processes)
        if rows % shares:
            whose = f" for {processes} processes" if processes > 1 else ""
            raise UsageError(
                f"a minibatch of {rows} rows cannot be cut into {shares} equal shares{whose}: "
                f"--batch-size {shares * max(1, round(rows / shares))} can"
            )
    return recipe


@dataclass(frozen=True)
class Batches:
    """A training set's minibatches: one pass over its rows after another, cut into epochs.

    In a pass every example is seen; its last minibatch is filled up with the permutation's first
    rows. An epoch of as many steps as a pass is that pass; shorter and longer ones go on where the
    epoch before them stopped.

    Attributes:
        data: the training rows.
        batch_size: rows per step.
        seed: of the permutations.
        steps: in an epoch.
        part: the rows of each minibatch that this process takes; all of them alone.
    """

    data: Rows
    batch_size: int
    seed: int
    steps: int
    part: slice = field(default_factory=lambda: slice(None))

    def epoch(self, epoch: int, start: int = 0) -> Iterator[BatchBlock]:
        """The epoch's minibatches from step `start` on.

        Rows are gathered block by block, each while the one before it is trained on: of data that
        is mapped from a file only the permutation, four bytes a row, and two blocks are in memory.
        """
        blocks = self._gathered(epoch, start)
        if self.steps <= STEPS_PER_CALL:
            # There is one block, and none to be gathered beside it.
            yield from blocks
            return
        with ThreadPoolExecutor(1) as reader:
            coming = reader.submit(next, blocks, None)
            while block := coming.result():
                coming = reader.submit(next, blocks, None)
                yield block

    def _gathered(self, epoch: int, start: int) -> Iterator[BatchBlock]:
        capacity = min(self.steps, STEPS_PER_CALL)
        passes = _Passes(self.data, self.batch_size, self.seed, self.part)
        own = len(range(self.batch_size)[self.part])
        for first in range(start, self.steps, capacity):
            count = min(capacity, self.steps - first)
            numbers, chosen = passes.steps(epoch * self.steps + first, count)

            def blocked(leaf: np.ndarray, count: int = count) -> np.ndarray:
                block = np.zeros((capacity, own, *leaf.shape[1:]), leaf.dtype)
                block[:count] = leaf.reshape(count, own, *leaf.shape[1:])
                return block

            yield BatchBlock(jax.tree.map(blocked, chosen), blocked(numbers), first, count)


def phase_batches(data: Dataset, phase: Recipe, seed: int, part: Callable[[int], slice]) -> Batches:
    """The minibatches of a phase, of which a process takes the `part` of a size."""
    rows: Rows = smoothed_rows(data, phase.smoothing)
    if phase.shifts:
        rows = shifted_rows(data, phase.shifts)
    size = min(phase.batch_size, len(rows))
    steps = steps_per_epoch(len(rows), size, phase.epoch_updates)
    return Batches(rows, size, seed, steps, part(size))


class _Passes:
    """Steps counted over all passes; keeps the permutation of the pass it looked at last."""

    def __init__(self, data: Rows, batch_size: int, seed: int, part: slice):
        self.data, self.batch_size, self.seed, self.part = data, batch_size, seed, part
        self.length = steps_per_epoch(len(data), batch_size)
        self.number = -1
        self.order = np.zeros(0, np.int32)

    def steps(self, first: int, count: int) -> tuple[np.ndarray, Any]:
        """The rows' numbers and the rows of some steps, minibatch after minibatch."""
        parts = []
        while count:
            number, place = divmod(first, self.length)
            taken = min(count, self.length - place)
            parts.append(self._within(number, place, taken))
            first, count = first + taken, count - taken
        if len(parts) == 1:
            return parts[0]
        return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)

    def _within(self, number: int, place: int, count: int) -> tuple[np.ndarray, Any]:
        if number != self.number:
            self.number, self.order = number, pass_order(len(self.data), self.seed, number)
        places = np.arange(place * self.batch_size, (place + count) * self.batch_size)
        places = places.reshape(count, self.batch_size)[:, self.part].reshape(-1)
        numbers = self.order.take(places, mode="wrap")
        return numbers, self.data.epoch_rows(numbers, self.seed, number)


def pass_order(examples: int, seed: int, number: int) -> np.ndarray:
    """A permutation of the examples, in as few bytes as their number allows."""
    order = np.arange(examples, dtype=np.int32 if examples < 2**31 else np.int64)
    np.random.default_rng((seed, number)).shuffle(order)
    return order
