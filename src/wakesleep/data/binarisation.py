"""How grey tables become a data set of bits: by a threshold, or drawn anew in every epoch."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from wakesleep.data.bits import PackedBits
from wakesleep.data.grey import GreyRows
from wakesleep.errors import UsageError

DYNAMIC = "dynamic"


@dataclass(frozen=True)
class Binarisation:
    """What is done with grey values.

    Attributes:
        threshold: 1 is where the grey value, from 0 to 1, is this or more; None draws bits.
    """

    threshold: float | None = None

    @classmethod
    def parse(cls, how: str | float) -> "Binarisation":
        """From "dynamic" or a threshold, which may be text."""
        if how == DYNAMIC:
            return cls()
        try:
            threshold = float(how)
        except ValueError:
            threshold = math.nan
        if not 0 < threshold <= 1:
            raise UsageError(
                f"binarise '{how}' must be '{DYNAMIC}' or a threshold above 0 and at most 1"
            )
        return cls(threshold)

    @property
    def description(self) -> str:
        """For a person who compares likelihoods."""
        if self.threshold is None:
            return (
                "dynamic: training bits drawn anew each epoch from grey values; "
                "valid and test drawn once"
            )
        return f"threshold: 1 where the grey value is {self.threshold:g} or more of 1"

    def apply(self, parts: Mapping[str, GreyRows]) -> dict[str, PackedBits | GreyRows]:
        """The splits as a data set has them."""
        if self.threshold is not None:
            return {name: grey.threshold(self.threshold) for name, grey in parts.items()}
        # Their bits depend on no seed of a user's, so that likelihoods of different runs compare.
        streams = {"valid": 1, "test": 2}
        return {
            name: grey.once(streams[name]) if name in streams else grey
            for name, grey in parts.items()
        }
