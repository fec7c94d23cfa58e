"""CTGAN and TVAE of the package ctgan (BUSL-1.1), where somebody has installed it."""

import pandas as pd

from benchmarks.tables.encoding import is_numeric
from benchmarks.tables.job import NotApplicableError


def sample_ctgan(method: str, known: pd.DataFrame, count: int, seed: int) -> pd.DataFrame:
    """Rows drawn by one of them, with its defaults. It takes no gaps: they get the median first."""
    try:
        import ctgan
        import torch
    except ModuleNotFoundError as error:
        raise NotApplicableError(f"{error.name} is not installed") from None
    torch.manual_seed(seed)
    numeric = {name: is_numeric(known[name]) for name in known.columns}
    filled = pd.DataFrame(
        {
            name: known[name].fillna(known[name].median())
            if numeric[name]
            else known[name].astype(object).where(known[name].notna(), "missing").astype(str)
            for name in known.columns
        }
    )
    model = getattr(ctgan, method)()
    model.set_random_state(seed)
    model.fit(filled, [name for name in known.columns if not numeric[name]])
    drawn = model.sample(count)
    levels = [name for name in drawn.columns if not numeric[name]]
    return drawn.assign(**{name: drawn[name].mask(drawn[name] == "missing") for name in levels})
