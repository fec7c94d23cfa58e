"""Training: the compiled loop, phases, and what watches it. It knows no folder."""

from wakesleep.recipe import Recipe
from wakesleep.training.automatic_fit import fit_automatic
from wakesleep.training.divergence import DivergenceError
from wakesleep.training.events import EpochRecord, Event, Observer
from wakesleep.training.fitting import fit
from wakesleep.training.initial import initial_model
from wakesleep.training.session import FitResult
from wakesleep.training.snapshot import Snapshot, first_snapshot

__all__ = [
    "DivergenceError",
    "EpochRecord",
    "Event",
    "FitResult",
    "Observer",
    "Recipe",
    "Snapshot",
    "first_snapshot",
    "fit",
    "fit_automatic",
    "initial_model",
]
