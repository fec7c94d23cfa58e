"""log p(x) of a mixture, from what is known of each of its components.

With r_c = π_c p̂_c(x) / p̂(x), the components' share in a row, and independent estimates p̂_c:

- log p̂(x) = log Σ_c π_c p̂_c(x), whose relative variance is Σ_c r_c² times that of p̂_c (delta
  method);
- its bias is minus half of that, and where a component's tail says that p̂_c lacks more than
  half its variance, the lack of that component by its share;
- the variational bound with q(c, h | x) = r_c q_c(h | x) is log p̂(x) − Σ_c r_c (log p̂_c − bound_c);
- the weights of all components together have the effective sample size 1 / Σ_c r_c² / ESS_c.

Where all components are exact, so is the mixture.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any

import jax
import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from wakesleep.evaluation.evaluator import Evaluator
from wakesleep.evaluation.records import RECORD, Records
from wakesleep.inference.responsibilities import COUNTS, joint_effective_samples

MOST_LACKING = 500.0
"""Nats; what lacks more is not worth telling apart, and its exponential would overflow."""


@dataclass(frozen=True, eq=False)
class Components(Evaluator):
    """log p(x) of a tile of examples, every component by an evaluator of its own.

    Attributes:
        evaluators: one for each component.
        log_proportions: log π_c, `[C]`.
    """

    needs_full_tiles = False

    evaluators: Sequence[Evaluator]
    log_proportions: npt.NDArray[np.float64]

    @property
    def exact(self) -> bool:
        """Whether every component is."""
        return all(each.exact for each in self.evaluators)

    @property
    def examples(self) -> int:
        """How many examples each call takes: no more than any component does."""
        return min(each.examples for each in self.evaluators)

    @property
    def bytes_per_tile(self) -> int:
        """Memory that one call takes: components come one after another."""
        return max(each.bytes_per_tile for each in self.evaluators)

    def __call__(self, x: Any, tile: int, stop: Event) -> Records:
        """All components' records, put together."""
        count = len(jax.tree.leaves(x)[0])
        full = _filled(x, self.examples)
        records = [
            each(full if each.needs_full_tiles else x, tile, stop)[:count]
            for each in self.evaluators
        ]
        return combined(np.stack(records, axis=-1), self.log_proportions)


def combined(each: Records, log_proportions: npt.NDArray[np.float64]) -> Records:
    """The mixture's records from those of its components, `[N, C]`."""
    joint = each["value"] + log_proportions
    value = logsumexp(joint, axis=-1)
    share = np.exp(joint - value[:, None])
    variances = np.square(each["standard_error"])
    variance = (np.square(share) * variances).sum(-1)
    lacking = np.clip(-each["bias"] - variances / 2, 0.0, MOST_LACKING)
    records = np.zeros(len(each), RECORD)
    records["value"] = value
    records["standard_error"] = np.sqrt(variance)
    records["bias"] = -variance / 2 - np.log1p((share * np.expm1(lacking)).sum(-1))
    records["bound"] = value - (share * (each["value"] - each["bound"])).sum(-1)
    records["effective_samples"] = joint_effective_samples(share, each["effective_samples"])
    records["pareto_k"] = _worst(np.where(share >= COUNTS, each["pareto_k"], np.nan))
    records["samples"] = each["samples"].sum(-1)
    records["runs"] = each["runs"].sum(-1)
    return records


def _worst(pareto_k: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The largest of each row; nan where none is known."""
    known = np.where(np.isnan(pareto_k), -np.inf, pareto_k).max(-1)
    return np.where(np.isinf(known), np.nan, known)


def _filled(x: Any, size: int) -> Any:
    """The examples with the last of them repeated up to `size`."""

    def fill(leaf: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.concatenate([leaf, np.repeat(leaf[-1:], size - len(leaf), axis=0)])

    return jax.tree.map(fill, x)
