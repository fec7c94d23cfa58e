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
    ]
)
