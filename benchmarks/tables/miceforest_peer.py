"""miceforest: chained equations of boosted trees, over all rows at once."""

import pandas as pd

from benchmarks.tables.encoding import is_numeric
from benchmarks.tables.job import NotApplicableError

ROUNDS = 5


def impute_with_miceforest(known: pd.DataFrame, test: pd.DataFrame, seed: int) -> pd.DataFrame:
    """With its defaults, but for the predictions themselves in place of draws near them.

    Draws are made for many imputed tables; of one, the prediction is nearer to the truth. The test
    rows are among those it learns from, to its advantage: with predictions alone its
    `impute_new_data` (6.0.5) leaves new rows as it initialised them, by draws from their columns.
    """
    try:
        import miceforest
    except ModuleNotFoundError as error:
        raise NotApplicableError(f"{error.name} is not installed") from None
    names = {name: f"c{i}" for i, name in enumerate(known.columns)}
    both = pd.concat([known, test], ignore_index=True)
    columns = {
        names[name]: both[name].astype(float)
        if is_numeric(both[name])
        else pd.Categorical(both[name].astype(object).where(both[name].notna(), None))
        for name in known.columns
    }
    kernel = miceforest.ImputationKernel(
        pd.DataFrame(columns), random_state=seed, mean_match_candidates=0
    )
    kernel.mice(ROUNDS)
    imputed = kernel.complete_data(0)[len(known) :].reset_index(drop=True)
    return imputed.rename(columns={short: name for name, short in names.items()})
