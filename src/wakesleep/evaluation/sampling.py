"""log p̂(x) by importance sampling."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, Key

from wakesleep.evaluation.evaluator import Evaluator
from wakesleep.evaluation.records import Records
from wakesleep.evaluation.tail import tail_length
from wakesleep.evaluation.tiles import Tiling, bytes_of, tile_log_weights, units_scored
from wakesleep.evaluation.weight_statistics import WeightStatistics
from wakesleep.models import HelmholtzMachine


@dataclass(frozen=True)
class ImportanceSampling(Evaluator):
    """log p̂(x) of a tile of examples, from samples of q."""

    model: HelmholtzMachine
    tiling: Tiling
    key: Key[Array, ""]

    @property
    def examples(self) -> int:
        """How many examples each call takes."""
        return self.tiling.examples

    @property
    def bytes_per_tile(self) -> int:
        """Memory that one call takes: p's and q's layers, and the tail that is kept."""
        rows = self.tiling.examples * self.tiling.samples
        tail = 8 * self.tiling.examples * tail_length(self.tiling.total)
        return bytes_of(rows, units_scored(self.model)) + tail

    def __call__(self, x: npt.NDArray[Any], tile: int, stop: Event) -> Records:
        """Draw block after block until all samples are there."""
        return self.gather(x, tile, stop).records()

    def gather(
        self,
        x: npt.NDArray[Any],
        tile: int,
        stop: Event,
        leave: Callable[[WeightStatistics], bool] = lambda gathered: False,
    ) -> WeightStatistics:
        """The same, asking after 1, 2, 4, 8, … blocks whether to leave it at that."""
        gathered = WeightStatistics(len(x), self.tiling.total)
        on_device = jnp.asarray(x)
        for block in range(self.tiling.blocks):
            wanted = self.tiling.total - gathered.count
            gathered.add(self._draw(on_device, tile, block)[:, :wanted])
            is_power_of_two = (block + 1) & block == 0
            if stop.is_set() or (is_power_of_two and leave(gathered)):
                break
        return gathered

    def _draw(self, x: Float[Array, "E D"], tile: int, block: int) -> npt.NDArray[Any]:
        place = jnp.asarray([tile, block], jnp.int32)
        return np.asarray(tile_log_weights(self.model, x, self.tiling.samples, self.key, place))
