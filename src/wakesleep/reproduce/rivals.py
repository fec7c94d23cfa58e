"""What anyone could run on the same rows: a Bernoulli mixture and a Chow-Liu tree, both exact.

Their numbers stand beside ours in the table of an arena, and are kept in a file of their own, so
that neither side is run again for the other's sake.
"""

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep import provenance
from wakesleep.data import Dataset, as_bits, load_dataset
from wakesleep.reproduce.chow_liu import ChowLiuTree
from wakesleep.reproduce.experiments import Experiment, Row
from wakesleep.reproduce.store import ExperimentStore
from wakesleep.schema import LatentClasses, Search

SUFFIX = ".rivals.json"

COMPONENTS = Search(
    counts=(1, 2, 4, 8, 16, 32, 64),
    shrinkage=(2.0,),
    rows=np.inf,
    most_work=np.inf,
    worth_it=0.0,
)
"""All training rows, and whatever number of components validation rows like best."""

Bits = npt.NDArray[np.int8]
LogProb = Callable[[Bits], npt.NDArray[np.float64]]
Fitted = tuple[LogProb, dict[str, Any]]
"""The log-probability of rows, and what was chosen on validation rows."""


def run_rivals(store: ExperimentStore, row: Row) -> dict[str, Any]:
    """The result of every rival, written down; one that has a result is not run again."""
    known = store.beside(row, SUFFIX)
    if known is not None:
        return known
    data = load_dataset(row.data)
    result = {
        "experiment": row.experiment,
        "row": row.name,
        "data": data.name,
        "rivals": {name: _measured(fit, data, row.seed) for name, fit in RIVALS.items()},
        "seed": row.seed,
        "command": f'wakesleep reproduce {row.experiment} --row "{row.name}"',
        "commit": provenance.commit(),
        "machine": provenance.machine(),
    }
    store.write_result(row, result, SUFFIX)
    return result


def rivals_of(store: ExperimentStore, experiment: Experiment) -> dict[str, dict[str, Any]]:
    """What was written down, by row and rival."""
    known = {row.name: store.beside(row, SUFFIX) for row in experiment.rows}
    return {name: result["rivals"] for name, result in known.items() if result}


def _measured(fit: Callable[[Dataset, int], Fitted], data: Dataset, seed: int) -> dict[str, Any]:
    """The mean over test rows with its interval, and what it took."""
    began = time.monotonic()
    log_prob, chosen = fit(data, seed)
    trained = time.monotonic()
    values = log_prob(bits_of(data.test))
    return {
        "nll": -float(values.mean()),
        "interval": 1.96 * float(values.std(ddof=1) / np.sqrt(len(values))),
        "valid_ll": float(log_prob(bits_of(data.valid)).mean()),
        **chosen,
        "training_seconds": trained - began,
        "evaluation_seconds": time.monotonic() - trained,
    }


def bernoulli_mixture(data: Dataset, seed: int) -> Fitted:
    """Latent classes of single bits, by EM."""
    states = (2,) * data.features
    train, valid = bits_of(data.train), bits_of(data.valid)
    made = LatentClasses.fit(train, states, valid, seed, COMPONENTS)
    return made.log_prob, {"components": made.classes}


def chow_liu_tree(data: Dataset, seed: int) -> Fitted:
    """There is nothing random about it."""
    return ChowLiuTree.fit(bits_of(data.train), bits_of(data.valid)).log_prob, {}


RIVALS: Mapping[str, Callable[[Dataset, int], Fitted]] = MappingProxyType(
    {"Bernoulli mixture": bernoulli_mixture, "Chow-Liu tree": chow_liu_tree}
)


def bits_of(table: Any) -> Bits:
    """All rows, `[N, D]`; of a type that has room for -1, a missing cell."""
    return np.asarray(as_bits(table)[:], np.int8)
