"""log p̂(x) by importance sampling, with as many samples as asked for or as it takes."""

from dataclasses import dataclass
from threading import Event
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, Key

from wakesleep.evaluation.accumulator import Accumulator
from wakesleep.evaluation.evaluator import Evaluator
from wakesleep.evaluation.growth import Growth, Values, gain_to_come
from wakesleep.evaluation.records import RECORD, Records
from wakesleep.evaluation.tail import UNRELIABLE, Tail, tail_length
from wakesleep.evaluation.tiles import Tiling, bytes_of, tile_log_weights
from wakesleep.model import HelmholtzMachine

FEW_COUNT = 0.02
"""Where more than this share of the samples count, a large Pareto k is a fit to a few states."""


@dataclass(frozen=True)
class ImportanceSampling(Evaluator):
    """log p̂(x) of a tile of examples.

    With a tolerance, an example is looked at after 1, 2, 4, 8, … blocks of samples and left
    when its numbers are good enough. Looking seldom, and asking for more than the plain
    standard error to be small, is what keeps the stopping itself from biasing the result:
    an example whose large weights have not been met yet looks better than it is.
    """

    model: HelmholtzMachine
    tiling: Tiling
    key: Key[Array, ""]
    tolerance: float | None = None

    @property
    def examples(self) -> int:
        """How many examples each call takes."""
        return self.tiling.examples

    @property
    def bytes_per_tile(self) -> int:
        """Memory that one call takes: p's and q's layers, and the tail that is kept."""
        width = self.model.features + 2 * sum(self.model.latent_sizes)
        rows = self.tiling.examples * self.tiling.samples
        return bytes_of(rows, width) + 8 * self.tiling.examples * tail_length(self.tiling.total)

    def __call__(self, x: npt.NDArray[Any], tile: int, stop: Event) -> Records:
        """Draw block after block until all samples are there, or enough."""
        sums, tail, growth = Accumulator(len(x)), Tail(len(x), self.tiling.total), Growth()
        on_device = jnp.asarray(x)
        for block in range(self.tiling.blocks):
            log_weights = self._draw(on_device, tile, block)[:, : self.tiling.total - sums.count]
            sums.add(log_weights)
            tail.add(log_weights)
            growth.add(log_weights)
            if stop.is_set() or self._enough(block + 1, sums, tail):
                break
        return _records(sums, tail, growth)

    def _draw(self, x: Float[Array, "E D"], tile: int, block: int) -> npt.NDArray[Any]:
        place = jnp.asarray([tile, block], jnp.int32)
        return np.asarray(tile_log_weights(self.model, x, self.tiling.samples, self.key, place))

    def _enough(self, blocks: int, sums: Accumulator, tail: Tail) -> bool:
        is_power_of_two = blocks & (blocks - 1) == 0
        if self.tolerance is None or not is_power_of_two:
            return False
        return within_tolerance(sums, tail, self.tolerance)


def within_tolerance(sums: Accumulator, tail: Tail, tolerance: float) -> bool:
    """Whether standard error and bias are below the tolerance, and can be believed to be.

    Both come from the variance estimate plus two standard errors of its own, and count only
    where the weights' tail is light enough (Pareto k) for a variance to mean anything.
    """
    variances = sums.cautious_variances
    small = (np.sqrt(variances) <= tolerance) & (variances / 2 <= tolerance)
    return bool(small.all() and not (tail.pareto_k() > UNRELIABLE).any())


def _records(sums: Accumulator, tail: Tail, growth: Growth) -> Records:
    records = np.empty(len(sums.sums), RECORD)
    variances, pareto_k = sums.relative_variances, tail.pareto_k()
    records["value"] = sums.log_likelihoods
    records["standard_error"] = np.sqrt(variances)
    heavy = (pareto_k > UNRELIABLE) & (sums.effective_samples < FEW_COUNT * sums.count)
    records["bias"] = -_missing(variances / 2, growth.gains(), pareto_k, heavy)
    records["bound"] = sums.bounds
    records["effective_samples"] = sums.effective_samples
    records["pareto_k"] = pareto_k
    records["samples"] = sums.count
    return records


def _missing(
    plain: Values, gains: Values | None, pareto_k: Values, heavy: npt.NDArray[np.bool_]
) -> Values:
    """How much log p̂ is low by: half the variance, or more where a heavy tail says so."""
    if gains is None:
        return plain
    return np.where(heavy, np.maximum(plain, gain_to_come(gains, pareto_k)), plain)
