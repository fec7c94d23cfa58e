"""SPFlow's LearnSPN with categorical and Gaussian leaves, as it comes."""

import contextlib
import io
import warnings

import numpy as np

from benchmarks.tables.job import NotApplicableError
from benchmarks.tables.mixture import Data, as_data
from wakesleep.schema import Encoded, Schema

DRAWS = 30
"""Points in the unit step of whole numbers over which a density is averaged to a probability."""


def spflow_log_prob(schema: Schema, parts: tuple[Encoded, ...], seed: int) -> np.ndarray:
    """Log-likelihoods of the last part's rows; those of the first are learned from."""
    try:
        import torch
        from spflow.learn.learn_spn import learn_spn
        from spflow.modules.leaves import Normal
    except ModuleNotFoundError as error:
        raise NotApplicableError(f"{error.name} is not installed") from None
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # more only wait for each other on its small matrices
    rng = np.random.default_rng(seed)
    train, test = (as_data(schema, part, "mixed") for part in (parts[0], parts[-1]))
    centres = np.array([np.nanmean(values) for values in train.numbers])
    spreads = np.array([max(np.nanstd(values), 1e-9) for values in train.numbers])

    def table(data: Data) -> np.ndarray:
        numbers = [
            (values + rng.uniform(-0.5, 0.5, data.rows) * whole - centre) / spread
            for values, whole, centre, spread in zip(
                data.numbers, data.whole, centres, spreads, strict=True
            )
        ]
        levels = [np.where(codes < 0, np.nan, codes) for codes in data.levels]
        return np.stack([*numbers, *levels], axis=1)

    count = len(train.numbers)
    leaves = [Normal(scope=list(range(count)))] if count else []
    for states in sorted(set(train.states)):
        columns = [count + i for i, own in enumerate(train.states) if own == states]
        leaves.append(_levels_leaf(states)(scope=columns))
    # Structure learning takes no gaps: they get the median, or the most frequent level, there.
    known = torch.tensor(_filled(table(train), count), dtype=torch.float32)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            # It says a line for each cluster it finds.
            with contextlib.redirect_stdout(io.StringIO()):
                network = learn_spn(known, leaves)
        except RuntimeError as error:
            # Columns that are constant within a cluster.
            raise NotApplicableError(f"LearnSPN fails: {error}") from None
        draws = range(DRAWS if any(train.whole) else 1)
        rows = [torch.tensor(table(test), dtype=torch.float32) for _ in draws]
        found = [network.log_likelihood(each).numpy().reshape(test.rows, -1)[:, 0] for each in rows]
    scores = np.logaddexp.reduce(np.asarray(found, np.float64), axis=0) - np.log(len(found))
    seen = np.stack([~np.isnan(values) for values in test.numbers], axis=1) if count else 0
    scores += test.measure
    return scores - (seen * np.log(spreads)).sum(axis=1) if count else scores


def _levels_leaf(states: int) -> type:
    """`learn_spn` makes leaves again by their class alone, which must then know how many levels."""
    from spflow.modules.leaves import Categorical

    class Levels(Categorical):
        def __init__(self, scope: object, out_channels: int = 1):
            super().__init__(scope, out_channels, K=states)

    return Levels


def _filled(table: np.ndarray, numbers: int) -> np.ndarray:
    out = table.copy()
    for j in range(table.shape[1]):
        seen = table[~np.isnan(table[:, j]), j]
        most = np.median(seen) if j < numbers else np.bincount(seen.astype(int)).argmax()
        out[np.isnan(out[:, j]), j] = most
    return out
