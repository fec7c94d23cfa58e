"""log p̂(x) to a tolerance, with samples spent where the weights are bad."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from wakesleep.evaluation.evaluator import Evaluator
from wakesleep.evaluation.records import Records
from wakesleep.evaluation.sampling import ImportanceSampling
from wakesleep.evaluation.tiles import bytes_of
from wakesleep.evaluation.weight_statistics import WeightStatistics
from wakesleep.inference.smc import PARTICLES, RUN_SAMPLES, smc_log_weights
from wakesleep.models import HelmholtzMachine

EXAMPLES = 256
"""In a tile: even where few of them need SMC runs, these together fill a call."""

SLOTS = (16, 64)
"""SMC runs in one compiled call, where they are few and where they are many."""

SMC_TILE = 2**31 - 1
"""Folded into the key: no tile of samples has this number."""

FEWEST_RUNS = 4
"""Fewer say nothing about how much runs differ."""

USUAL_COUNTS = 4
"""Runs that the spread of the tile's other examples counts for, beside an example's own: four
runs that happen to agree must not pass for a small error."""


@dataclass(eq=False)
class Case:
    """One example: its samples of q, and the log weights of its SMC runs if it has any.

    Attributes:
        x: the example, a tree of arrays `[1, ...]`.
        statistics: all that is kept of its samples of q.
        runs: the log weight of each SMC run.
    """

    x: Any
    statistics: WeightStatistics
    runs: list[float] = field(default_factory=list)

    @property
    def samples(self) -> int:
        """States scored for it so far."""
        return self.statistics.count + len(self.runs) * RUN_SAMPLES

    @property
    def spread(self) -> float:
        """The variance of its runs' logarithms."""
        return float(np.var(self.runs, ddof=1))

    def relative_variance(self, usual: float) -> float:
        """Of the runs' mean, where `usual` is the spread of examples like this one.

        A log-normal weight has e^s − 1; two terms of that are enough, and do not explode
        where a few runs happen to lie far apart.
        """
        runs = len(self.runs)
        spread = ((runs - 1) * self.spread + USUAL_COUNTS * usual) / (runs - 1 + USUAL_COUNTS)
        return (spread + spread**2 / 2) / runs

    def settled(self, tolerance: float, usual: float) -> bool:
        """Whether standard error and bias are below it, plus two standard errors of their own."""
        known = len(self.runs) - 1 + USUAL_COUNTS
        variance = self.relative_variance(usual) * (1 + 2 * (2 / known) ** 0.5)
        return max(variance**0.5, variance / 2) <= tolerance

    def records(self, usual: float) -> Records:
        """Its line: of the runs where there are any."""
        records = self.statistics.records()
        if self.runs:
            variance = self.relative_variance(usual)
            records["value"] = logsumexp(self.runs) - np.log(len(self.runs))
            records["standard_error"] = variance**0.5
            records["bias"] = -variance / 2
            records["effective_samples"] = np.exp(
                2 * logsumexp(self.runs) - logsumexp(2 * np.array(self.runs))
            )
            records["pareto_k"] = np.nan
            records["samples"] = self.samples
            records["runs"] = len(self.runs)
        return records


@dataclass(frozen=True)
class AdaptiveSampling(Evaluator):
    """log p̂(x) of a tile of examples, each to a tolerance or until its samples are spent.

    Every example begins with samples of q. It is looked at after 1, 2, 4, 8, … blocks and left
    when its numbers are good enough. Looking seldom, and asking for more than the plain
    standard error to be small, is what keeps the stopping itself from biasing the result:
    an example whose large weights have not been met yet looks better than it is. One whose
    weights have a tail so heavy that more of the same will not do goes on with SMC runs, which
    only a Helmholtz machine has.
    """

    needs_full_tiles = False

    sampling: ImportanceSampling
    tolerance: float
    masked: bool = False
    """Whether examples have missing cells, for which there are no SMC runs."""

    @property
    def examples(self) -> int:
        """How many examples each call takes."""
        return EXAMPLES

    @property
    def bytes_per_tile(self) -> int:
        """Memory that one call takes."""
        runs = bytes_of(SLOTS[-1] * PARTICLES, self.sampling.widths.scored)
        return self.sampling.bytes_per_tile + (runs if self._has_smc else 0)

    def __call__(self, x: Any, tile: int, stop: Event) -> Records:
        """Samples of q for each example, then SMC runs for those that need them."""
        cases = [
            Case(row, self.sampling.statistics(row, tile * EXAMPLES + i, stop, self._leave))
            for i, row in enumerate(_one_by_one(x))
        ]
        heavy = [case for case in cases if self._needs_smc(case.statistics)]
        for number, chosen in enumerate(self._rounds(heavy, stop)):
            log_weights = self._run(chosen, tile, number)
            for case, log_weight in zip(chosen, log_weights, strict=False):
                case.runs.append(float(log_weight))
        usual = _usual_spread(heavy)
        return np.concatenate([case.records(usual) for case in cases])

    @property
    def _has_smc(self) -> bool:
        return isinstance(self.sampling.model, HelmholtzMachine) and not self.masked

    def _leave(self, statistics: WeightStatistics) -> bool:
        return statistics.within(self.tolerance) or self._needs_smc(statistics)

    def _needs_smc(self, statistics: WeightStatistics) -> bool:
        left = self.sampling.tiling.total - statistics.count
        affordable = left >= FEWEST_RUNS * RUN_SAMPLES
        return self._has_smc and affordable and bool(statistics.hopeless.any())

    def _rounds(self, cases: Sequence[Case], stop: Event) -> Iterator[list[Case]]:
        """Whose runs each call makes, as long as there are some that need them.

        Runs that cost nothing, since a call is not full without them, are made too.
        """
        while not stop.is_set():
            usual = _usual_spread(cases)
            wanting = [case for case in cases if self._wants_a_run(case, usual)]
            if not wanting:
                return
            affordable = [self._affordable(case) for case in wanting]
            turns = [
                case
                for turn in range(max(affordable))
                for case, runs in zip(wanting, affordable, strict=True)
                if turn < runs
            ]
            yield turns[: _slots(len(wanting))]

    def _affordable(self, case: Case) -> int:
        return (self.sampling.tiling.total - case.samples) // RUN_SAMPLES

    def _wants_a_run(self, case: Case, usual: float) -> bool:
        if len(case.runs) < FEWEST_RUNS:
            return True
        return self._affordable(case) > 0 and not case.settled(self.tolerance, usual)

    def _run(self, chosen: Sequence[Case], tile: int, number: int) -> npt.NDArray[Any]:
        """One run for each; the call is filled up, so that few shapes are compiled."""
        model = self.sampling.model
        assert isinstance(model, HelmholtzMachine)
        x = np.zeros((_slots(len(chosen)), model.features), np.float32)
        x[: len(chosen)] = np.concatenate([case.x for case in chosen])
        key = jax.random.fold_in(self.sampling.key, SMC_TILE)
        place = jnp.asarray([tile, number], jnp.int32)
        return np.asarray(smc_log_weights(model, jnp.asarray(x), key, place))


def _one_by_one(x: Any) -> list[Any]:
    """A tree of arrays `[E, ...]` as E trees of arrays `[1, ...]`."""
    count = len(jax.tree.leaves(x)[0])
    return [jax.tree.map(lambda leaf, i=i: leaf[i : i + 1], x) for i in range(count)]


def _slots(wanted: int) -> int:
    return next((slots for slots in SLOTS if slots >= wanted), SLOTS[-1])


def _usual_spread(cases: Sequence[Case]) -> float:
    known = [case.spread for case in cases if len(case.runs) > 1]
    return float(np.mean(known)) if known else 0.0
