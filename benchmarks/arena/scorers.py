"""The models of the arena: ours as `wakesleep reproduce debd` trained it, a tree, and a circuit."""

import contextlib
import io
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from benchmarks.arena.queries import Codes, Scorer, Values
from benchmarks.tables.job import NotApplicableError
from wakesleep.data import Dataset, MaskedBits, PackedBits
from wakesleep.evaluation import log_likelihood, upper_log_likelihood
from wakesleep.reproduce.chow_liu import ChowLiuTree, mutual_information
from wakesleep.reproduce.experiments import Row, load_experiment
from wakesleep.reproduce.rivals import bits_of
from wakesleep.reproduce.store import ExperimentStore
from wakesleep.runs.loading import load_run

SAMPLES = 500
"""K of ours from below, where it is not exact."""
DEPENDENT = 10.83
"""The G statistic of two columns above which they are not independent: one in a thousand is."""
DEPTH = 5000
"""Of Python's calls: a circuit is scored by a few of them for each of its levels."""
PSEUDO_COUNT = 0.5
"""Of each state in a leaf."""
ROUND_SAMPLES, ROUNDS = 250, 4
"""K of each round of a chain, and its rounds, from above."""
SEED = 1


def ours(row: Row, data: Dataset, runs: Path) -> Scorer:
    """The model of the row, if it was trained here."""
    folder = ExperimentStore(runs, Path()).run_path(row)
    if not folder.exists():
        raise NotApplicableError(f'`wakesleep reproduce debd --row "{row.name}"` was not run')
    run = load_run(folder, data)
    model = run.machine

    def rows_of(codes: Codes) -> PackedBits | MaskedBits:
        if (codes >= 0).all():
            return PackedBits.pack(codes)
        known = codes >= 0
        return MaskedBits.pack(np.where(known, codes, 0), known, (1,) * codes.shape[1])

    def below(codes: Codes) -> Values:
        return log_likelihood(model, rows_of(codes), SAMPLES, key=SEED).values

    def above(codes: Codes) -> Values:
        rows = rows_of(codes)
        return upper_log_likelihood(model, rows, ROUND_SAMPLES, key=SEED, rounds=ROUNDS).values

    return Scorer(below, above, {"model": run.config.model, "samples": SAMPLES})


def chow_liu_tree(row: Row, data: Dataset, runs: Path) -> Scorer:
    """Learned on training rows."""
    began = time.process_time()
    tree = ChowLiuTree.fit(bits_of(data.train), bits_of(data.valid))
    return Scorer(tree.log_prob, about={"training seconds": time.process_time() - began})


def spflow(row: Row, data: Dataset, runs: Path) -> Scorer:
    """SPFlow's LearnSPN with Bernoulli leaves; columns not known are NaN.

    Columns are told apart by the G-test of LearnSPN's paper (Gens & Domingos 2013), and leaves are
    smoothed: by its own test, and without, SPFlow fails on columns that are constant among some
    rows.
    """
    try:
        import torch
        from spflow.learn.learn_spn import learn_spn
    except ModuleNotFoundError as error:
        raise NotApplicableError(f"{error.name} is not installed") from None
    torch.manual_seed(SEED)
    torch.set_num_threads(1)  # more only wait for each other on its small matrices
    sys.setrecursionlimit(DEPTH)
    train = torch.tensor(bits_of(data.train), dtype=torch.float32)
    began = time.process_time()
    leaves = [_smoothed_bernoulli()(scope=list(range(data.features)))]
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            # It says a line for each cluster it finds.
            with contextlib.redirect_stdout(io.StringIO()):
                network = learn_spn(train, leaves, partitioning_method=dependent_parts)
        except RecursionError:
            raise
        except RuntimeError as error:
            raise NotApplicableError(f"LearnSPN fails: {error}") from None

    def log_prob(codes: Codes) -> Values:
        rows = torch.tensor(np.where(codes < 0, np.nan, codes), dtype=torch.float32)
        with torch.no_grad():
            values = network.log_likelihood(rows).numpy()
        return values.reshape(len(codes), -1)[:, 0].astype(np.float64)

    return Scorer(log_prob, about={"training seconds": time.process_time() - began})


def _smoothed_bernoulli() -> type:
    """`learn_spn` makes leaves again by their class alone, which must then know how."""
    from spflow.modules.leaves import Bernoulli

    class Smoothed(Bernoulli):
        def _compute_parameter_estimates(self, data: Any, *rest: Any, **options: Any) -> Any:
            rows = len(data)
            found = super()._compute_parameter_estimates(data, *rest, **options)
            return {"probs": (found["probs"] * rows + PSEUDO_COUNT) / (rows + 2 * PSEUDO_COUNT)}

    return Smoothed


def dependent_parts(rows: Any) -> Any:
    """The number of the part that each column is in, as a tensor of `rows`' kind."""
    import torch

    dependent = 2 * len(rows) * mutual_information(rows.numpy()) > DEPENDENT
    return torch.tensor(connected_components(dependent)[1])


METHODS: dict[str, Callable[[Row, Dataset, Path], Scorer]] = {
    "ours": ours,
    "Chow-Liu tree": chow_liu_tree,
    "SPFlow": spflow,
}
SETS = {row.name: row for row in load_experiment("debd").rows}
