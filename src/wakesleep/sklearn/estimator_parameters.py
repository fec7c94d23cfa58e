"""What the estimator's parameters may be."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from wakesleep.inference.features import FEATURES

CONSTRAINTS: dict[str, list[Any]] = {
    "architecture": [str],
    "minutes": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "estimator": [str, Mapping],
    "samples": [Interval(Integral, 1, None, closed="left"), None],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "weight_decay": [Interval(Real, 0, None, closed="left")],
    "validation_fraction": [Interval(Real, 0, 1, closed="left")],
    "patience": [Interval(Integral, 0, None, closed="left")],
    "inference_samples": [Interval(Integral, 1, None, closed="left")],
    "features": [StrOptions(set(FEATURES))],
    "columns": [Mapping, None],
    "unseen": [StrOptions({"error", "missing"})],
    "binarize": [Real, None],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}
"""By name, as scikit-learn declares them."""
