"""Every example of a set once, some tiles at a time, with progress and checkpoints."""

import os
import time
from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from threading import Event
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import psutil

from wakesleep import pools
from wakesleep.errors import UsageError
from wakesleep.evaluation.evaluator import Evaluator
from wakesleep.evaluation.partial_results import Checkpoint
from wakesleep.evaluation.records import RECORD, Records
from wakesleep.inference.blocks import Block, Blocks, Progress
from wakesleep.inference.rows import Rows, examples

SECONDS_BETWEEN_CHECKPOINTS = 30.0


def evaluate_all(
    evaluator: Evaluator,
    rows: Rows,
    *,
    workers: int,
    checkpoint: Checkpoint | None,
    progress: Progress | None,
) -> Records:
    """The records of all rows."""
    work = _Work(evaluator, rows, Blocks(len(rows), evaluator.examples))
    records, done = np.zeros(len(rows), RECORD), np.zeros(len(work.tiles), np.bool_)
    if checkpoint:
        checkpoint.load(records, done)
    finished = sum(len(work.tiles[number]) for number in _places(done))
    saved = time.monotonic()
    try:
        with closing(_evaluated(work, _places(~done), workers)) as evaluated:
            for tile, part in evaluated:
                records[tile.start : tile.stop] = part[: len(tile)]
                done[tile.number] = True
                finished += len(tile)
                if progress:
                    progress(finished, len(rows))
                if checkpoint and time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS:
                    checkpoint.save(records, done)
                    saved = time.monotonic()
    finally:
        if checkpoint:
            checkpoint.save(records, done)
    return records


def workers_within(memory: int, one: int) -> int:
    """How many tiles of `one` bytes each may be alive, so that the process stays in `memory`.

    Never more than there are cores; at least one, if that alone can fit.
    """
    if one > memory:
        raise UsageError(
            f"memory is {memory / 1e6:.0f} MB, but one block of samples of this model takes "
            f"about {one / 1e6:.0f} MB"
        )
    room = memory - _resident_bytes()
    return max(1, min(os.cpu_count() or 1, room // one))


class _Work(NamedTuple):
    """What is evaluated, and in which tiles."""

    evaluator: Evaluator
    rows: Rows
    tiles: Blocks

    def examples(self, tile: Block) -> Any:
        """Those of a tile, filled up where the evaluator wants it full."""
        places = tile.filled if self.evaluator.needs_full_tiles else tile.rows
        return examples(self.rows, places)


def _evaluated(
    work: _Work, numbers: list[int], workers: int
) -> Generator[tuple[Block, Records], None, None]:
    """(tile, records) in the order in which they are finished."""
    pool = pools.current()
    if pool is not None:
        parts = ((n, (work.examples(work.tiles[n]), n)) for n in numbers)
        for number, records in pool.each(_of_tile, work.evaluator, parts):
            yield work.tiles[number], records
        return
    stop = Event()
    left = iter(numbers)
    running: dict[Future[Records], Block] = {}
    with ThreadPoolExecutor(workers) as threads:

        def start(number: int) -> None:
            tile = work.tiles[number]
            x = work.examples(tile)
            running[threads.submit(work.evaluator, x, tile.number, stop)] = tile

        try:
            for _, number in zip(range(workers), left, strict=False):
                start(number)
            while running:
                ready, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ready:
                    yield running.pop(future), future.result()
                    for number in left:
                        start(number)
                        break
        finally:
            # Not reached by the end alone: an error or Ctrl-C must not wait for K samples.
            stop.set()


def _of_tile(evaluator: Evaluator, part: tuple[Any, int]) -> Records:
    """What a worker elsewhere does, which nobody asks to stop."""
    x, number = part
    return evaluator(x, number, Event())


def _places(flags: npt.NDArray[np.bool_]) -> list[int]:
    return np.flatnonzero(flags).tolist()


def _resident_bytes() -> int:
    return int(psutil.Process().memory_info().rss)
