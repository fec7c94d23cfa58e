"""One line per example: what every way of evaluating log p(x) fills in."""

from typing import Any

import numpy as np
import numpy.typing as npt

Records = npt.NDArray[Any]
"""`[N]` of type `RECORD`."""

RECORD = np.dtype(
    [
        ("value", np.float64),
        ("standard_error", np.float64),
        ("bias", np.float64),
        ("bound", np.float64),
        ("effective_samples", np.float64),
        ("pareto_k", np.float64),
        ("samples", np.int64),
        ("runs", np.int64),
    ]
)


def exact_records(values: npt.NDArray[np.float64], bounds: npt.NDArray[np.float64]) -> Records:
    """Lines for log p(x) that were computed and not estimated."""
    records = np.zeros(len(values), RECORD)
    records["value"] = values
    records["bound"] = bounds
    records["effective_samples"] = np.nan
    records["pareto_k"] = np.nan
    return records
