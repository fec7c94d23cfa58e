"""Every example of a set once, some tiles at a time, with progress and checkpoints."""

import os
import resource
import sys
import time
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from threading import Event

import numpy as np
import numpy.typing as npt

from wakesleep.data import PackedBits
from wakesleep.errors import UsageError
from wakesleep.evaluation.evaluator import Evaluator
from wakesleep.evaluation.partial_results import Checkpoint
from wakesleep.evaluation.records import RECORD, Records

SECONDS_BETWEEN_CHECKPOINTS = 30.0

Progress = Callable[[int, int], None]
"""Called with the numbers of examples done and in all."""


def evaluate_all(
    evaluator: Evaluator,
    bits: PackedBits,
    *,
    workers: int,
    checkpoint: Checkpoint | None,
    progress: Progress | None,
) -> Records:
    """The records of all rows."""
    tiles = -(-len(bits) // evaluator.examples)
    records, done = np.zeros(len(bits), RECORD), np.zeros(tiles, np.bool_)
    if checkpoint:
        checkpoint.load(records, done)
    finished = sum(len(_rows(bits, evaluator.examples, tile)) for tile in _places(done))
    saved = time.monotonic()
    try:
        with closing(_evaluated(evaluator, bits, _places(~done), workers)) as evaluated:
            for tile, part in evaluated:
                rows = _rows(bits, evaluator.examples, tile)
                records[rows.start : rows.stop] = part[: len(rows)]
                done[tile] = True
                finished += len(rows)
                if progress:
                    progress(finished, len(bits))
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
            f"memory is {memory / 1e6:.0f} MB, but one block of samples of this machine takes "
            f"about {one / 1e6:.0f} MB"
        )
    room = memory - _resident_bytes()
    return max(1, min(os.cpu_count() or 1, room // one))


def _evaluated(
    evaluator: Evaluator, bits: PackedBits, tiles: list[int], workers: int
) -> Generator[tuple[int, Records], None, None]:
    """(tile, records) in the order in which they are finished."""
    stop = Event()
    left = iter(tiles)
    running: dict[Future[Records], int] = {}
    with ThreadPoolExecutor(workers) as pool:

        def start(tile: int) -> None:
            x = _examples(evaluator, bits, tile)
            running[pool.submit(evaluator, x, tile, stop)] = tile

        try:
            for _, tile in zip(range(workers), left, strict=False):
                start(tile)
            while running:
                ready, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ready:
                    yield running.pop(future), future.result()
                    for tile in left:
                        start(tile)
                        break
        finally:
            # Not reached by the end alone: an error or Ctrl-C must not wait for K samples.
            stop.set()


def _places(flags: npt.NDArray[np.bool_]) -> list[int]:
    return np.flatnonzero(flags).tolist()


def _rows(bits: PackedBits, examples: int, tile: int) -> range:
    return range(tile * examples, min((tile + 1) * examples, len(bits)))


def _examples(evaluator: Evaluator, bits: PackedBits, tile: int) -> npt.NDArray[np.float32]:
    """The rows of a tile, filled up with zeros where the evaluator wants it full."""
    rows = _rows(bits, evaluator.examples, tile)
    x = bits[rows.start : rows.stop].astype(np.float32)
    missing = evaluator.examples - len(rows) if evaluator.needs_full_tiles else 0
    return np.pad(x, ((0, missing), (0, 0)))


def _resident_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
