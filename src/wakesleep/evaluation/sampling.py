"""log p̂(x) by importance sampling."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Int, Key

from wakesleep.evaluation.evaluator import Evaluator
from wakesleep.evaluation.records import Records
from wakesleep.evaluation.tail import tail_length
from wakesleep.evaluation.tiles import (
    Tiling,
    Widths,
    bytes_of,
    combined_tile,
    defensive_tile,
    neighbourhoods_of_tile,
    tile_log_weights,
)
from wakesleep.evaluation.weight_statistics import WeightStatistics
from wakesleep.inference.defensive import Proposals
from wakesleep.models import HelmholtzMachine, LatentModel

FEWEST_GROUPS = 8
LARGEST_GROUP = 64
"""A sample's pairs with the others of its group cost what a layer of so many units costs."""

Place = Int[Array, "2"]
Drawn = tuple[npt.NDArray[Any], npt.NDArray[Any] | None]
"""Log weights, and the bounds of q where these are not the weights of its samples."""


@dataclass(frozen=True)
class ImportanceSampling(Evaluator):
    """log p̂(x) of a tile of examples, from samples of q.

    In a Helmholtz machine the share `defensive` of them comes from other proposals
    (`inference/defensive.py`); a model of another kind has none.

    Attributes:
        group: M, the samples of q whose combinations make one weight
            (`inference/combinations.py`); with 1 each makes its own. Samples of a tile, and all
            statistics but the number of samples, are then counted in such groups.
    """

    model: LatentModel
    widths: Widths
    tiling: Tiling
    key: Key[Array, ""]
    defensive: float | int = 0.0
    group: int = 1

    @classmethod
    def of(
        cls,
        model: LatentModel,
        x: Any,
        samples: int,
        key: Key[Array, ""],
        defensive: float | int = 0.0,
    ) -> "ImportanceSampling":
        """For a model and examples like `x`, a tree of arrays `[1, ...]`."""
        widths = Widths.of(model, x)
        return cls(model, widths, Tiling.of(samples, widths.tile_rows), key, defensive)

    @classmethod
    def combined(
        cls, machine: HelmholtzMachine, x: Any, samples: int, key: Key[Array, ""]
    ) -> "ImportanceSampling":
        """The same with samples of q alone that are combined with each other, group by group."""
        widths, group = Widths.of(machine, x), group_size(samples)
        tiling = Tiling.of(-(-samples // group), max(1, widths.tile_rows // group))
        return cls(machine, widths, tiling, key, group=group)

    @property
    def examples(self) -> int:
        """How many examples each call takes."""
        return self.tiling.examples

    @property
    def bytes_per_tile(self) -> int:
        """Memory that one call takes: p's and q's layers, and the tail that is kept."""
        rows = self.tiling.examples * self.tiling.samples * self.group
        tail = 8 * self.tiling.examples * tail_length(self.tiling.total)
        return bytes_of(rows, self.widths.scored) + tail

    def __call__(self, x: Any, tile: int, stop: Event) -> Records:
        """Draw block after block until all samples are there."""
        records = self.statistics(x, tile, stop).records()
        records["samples"] *= self.group
        return records

    def statistics(
        self,
        x: Any,
        tile: int,
        stop: Event,
        leave: Callable[[WeightStatistics], bool] = lambda statistics: False,
    ) -> WeightStatistics:
        """The same, asking after 1, 2, 4, 8, … blocks whether to leave it at that."""
        on_device = jax.tree.map(jnp.asarray, x)
        examples = len(jax.tree.leaves(on_device)[0])
        statistics = WeightStatistics(examples, self.tiling.total)
        draw = self._drawing(on_device, tile)
        for block in range(self.tiling.blocks):
            wanted = self.tiling.total - statistics.count
            log_weights, bounds = draw(_place(tile, block))
            statistics.add(log_weights[:, :wanted], bounds)
            is_power_of_two = (block + 1) & block == 0
            if stop.is_set() or (is_power_of_two and leave(statistics)):
                break
        return statistics

    def _drawing(self, x: Any, tile: int) -> Callable[[Place], Drawn]:
        """How the blocks of a tile are drawn: from q, or where the model can, from more than that.

        A search for the posterior's modes comes first then; its place is beyond the last block.
        """
        model, samples, key = self.model, self.tiling.samples, self.key

        def from_groups(place: Place) -> Drawn:
            assert isinstance(model, HelmholtzMachine)
            estimates, bounds = combined_tile(model, x, (samples, self.group), key, place)
            return np.asarray(estimates), np.asarray(bounds)

        if self.group > 1:
            return from_groups

        def from_q(place: Place) -> Drawn:
            return np.asarray(tile_log_weights(model, x, samples, key, place)), None

        if not isinstance(model, HelmholtzMachine):
            return from_q
        proposals = Proposals.of(model, samples, self.defensive)
        if proposals.q == samples:
            return from_q
        search = _place(tile, self.tiling.blocks)
        near = neighbourhoods_of_tile(model, x, key, search) if proposals.near else None

        def from_all(place: Place) -> Drawn:
            drawn = defensive_tile(model, x, proposals, near, key, place)
            return np.asarray(drawn.log_weights), np.asarray(drawn.bounds)

        return from_all


def group_size(samples: int) -> int:
    """M for K samples: the larger the better, but only several groups tell their own error."""
    return max(1, min(LARGEST_GROUP, samples // FEWEST_GROUPS))


def _place(tile: int, block: int) -> Place:
    return jnp.asarray([tile, block], jnp.int32)
