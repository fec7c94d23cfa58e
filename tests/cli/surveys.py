"""A survey with categories, numbers, a date and gaps."""

import numpy as np
import pandas as pd

COLOURS = {"red", "green", "blue"}
MODEL = ["--model", "sbn/sbn 3", "--batch-size", "20", "--quiet"]


def survey(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.random(rows) < 0.5
    table = pd.DataFrame(
        {
            "person": [f"p{number:04d}" for number in range(rows)],
            "answer": np.where(kind ^ (rng.random(rows) < 0.1), "yes", "no"),
            "colour": np.where(kind, "red", rng.choice(["green", "blue"], rows)),
            "children": rng.poisson(np.where(kind, 1, 4)),
            "height": (rng.normal(size=rows) * 0.1 + np.where(kind, 1.6, 1.8)).round(2),
            "seen": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 90, rows), "D"),
        }
    )
    table.loc[rng.random(rows) < 0.15, "colour"] = None
    table.loc[rng.random(rows) < 0.15, "height"] = np.nan
    return table
