"""Random numbers that belong to rows, whatever rows are asked for together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


class RowDraws:
    """One stream of uniform whole numbers below 2^31, some for each row of a table.

    They are places in one long sequence, SplitMix64 (Steele, Lea & Flood 2014), of which any
    place is reached at once: a generator object for each row would take longer than a step.
    """

    def __init__(self, stream: Sequence[int]):
        self._state = np.random.SeedSequence(stream).generate_state(1, np.uint64)

    def __call__(self, rows: npt.NDArray[np.integer], count: int) -> npt.NDArray[np.uint32]:
        """So many for each of the rows with these numbers, `[n, count]`."""
        words = -(-count // 2)
        places = rows.astype(np.uint64)[:, None] * np.uint64(words)
        z: npt.NDArray[Any] = places + np.arange(words, dtype=np.uint64)
        z *= np.uint64(0x9E3779B97F4A7C15)
        z += self._state
        z ^= z >> np.uint64(30)
        z *= np.uint64(0xBF58476D1CE4E5B9)
        z ^= z >> np.uint64(27)
        z *= np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        return z.view(np.uint32)[:, :count] >> np.uint32(1)
