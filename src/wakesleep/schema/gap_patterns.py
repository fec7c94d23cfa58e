"""Which cells of a row are missing together, so that drawn rows can have gaps like real ones.

Gaps come in patterns: who was not asked one question was not asked the next one either. A pattern
is drawn as often as training rows have it, whatever the values of the row are; where missing-ness
depends on them, `--missing level` makes it a part of the model.
"""

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.schema.encoded import Encoded
from wakesleep.schema.frame import Frame, Mask

MOST_PATTERNS = 1000
"""Those that most rows have."""


@dataclass(frozen=True, eq=False)
class GapPatterns:
    """Patterns of missing cells, and how many training rows have each.

    Attributes:
        missing: `[P, G]`, for each of the modelled columns.
        counts: `[P]`.
    """

    missing: Mask
    counts: npt.NDArray[np.int64]

    @classmethod
    def fit(cls, rows: Encoded) -> "GapPatterns | None":
        """Of training rows; None where none has a gap."""
        gaps = rows.codes < 0
        if not gaps.any():
            return None
        patterns, counts = np.unique(gaps, axis=0, return_counts=True)
        kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_PATTERNS])
        return cls(patterns[kept], counts[kept].astype(np.int64))

    def put_into(
        self, frame: Frame, names: tuple[str, ...], seed: Any, given: Collection[str] = ()
    ) -> Frame:
        """A frame of complete rows with gaps.

        Args:
            frame: drawn rows.
            names: of the modelled columns.
            seed: of the choice of patterns, as NumPy takes it.
            given: columns that stay complete, as conditions name them.
        """
        chances = self.counts / self.counts.sum()
        chosen = np.random.default_rng(seed).choice(len(chances), len(frame), p=chances)
        gaps = dict(zip(names, self.missing[chosen].T, strict=True))
        cells = tuple(
            dataclasses.replace(one, missing=one.missing | gaps[one.name])
            if one.name in gaps and one.name not in given
            else one
            for one in frame.cells
        )
        return dataclasses.replace(frame, cells=cells)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: the numbers of the columns that are missing in each pattern."""
        columns = [np.flatnonzero(one).tolist() for one in self.missing]
        return {"columns": columns, "counts": self.counts.tolist()}

    @classmethod
    def from_dict(cls, values: Any, groups: int) -> "GapPatterns":
        """What `to_dict` gave, for so many modelled columns; a `ValueError` for anything else."""
        try:
            columns, counts = values["columns"], np.array(values["counts"])
            missing = np.zeros((len(columns), groups), bool)
            for row, pattern in zip(missing, columns, strict=True):
                numbers = np.array(pattern, np.int64)
                if (numbers < 0).any():
                    raise ValueError
                row[numbers] = True
        except (TypeError, KeyError, IndexError, OverflowError):
            raise ValueError from None
        if counts.shape != (len(missing),) or counts.dtype.kind != "i" or not len(counts):
            raise ValueError
        if (counts < 1).any():
            raise ValueError
        return cls(missing, counts.astype(np.int64))
