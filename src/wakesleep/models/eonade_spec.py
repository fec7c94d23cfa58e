"""The options of an EoNADE, and the orderings that follow from them."""

import dataclasses
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from wakesleep.options import Whole, check_declared


@dataclass(frozen=True)
class EoNADESpec:
    """An EoNADE's options, as in `eonade(hidden=500, layers=2, orderings=16)`.

    >>> str(EoNADESpec(hidden=500, layers=2))
    'eonade(hidden=500, layers=2)'

    Attributes:
        hidden: H, the width of each hidden layer.
        layers: how many there are.
        orderings: M, over which probabilities are averaged.
        seed: from which the M orderings are drawn.
    """

    hidden: Annotated[int, Whole(least=1)] = 200
    layers: Annotated[int, Whole(least=1)] = 1
    orderings: Annotated[int, Whole(least=1)] = 16
    seed: Annotated[int, Whole()] = 0

    def __post_init__(self) -> None:
        check_declared(self)

    def __str__(self) -> str:
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        named = [f"{n}={v}" for n, v in values.items() if v != getattr(EoNADESpec, n)]
        return f"eonade({', '.join(named)})" if named else "eonade"

    def orders(self, groups: int) -> npt.NDArray[np.int32]:
        """The M orderings of G groups, `[M, G]`."""
        random = np.random.default_rng(self.seed)
        return np.stack([random.permutation(groups) for _ in range(self.orderings)], dtype=np.int32)
