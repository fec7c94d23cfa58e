"""Training: recipes, the compiled loop, and what watches it."""

from wakesleep.recipe import RECIPES, Recipe, load_recipe
from wakesleep.training.divergence import DivergenceError
from wakesleep.training.events import EpochRecord, Event, Observer
from wakesleep.training.session import FitResult, fit
from wakesleep.training.snapshot import Snapshot

__all__ = [
    "RECIPES",
    "DivergenceError",
    "EpochRecord",
    "Event",
    "FitResult",
    "Observer",
    "Recipe",
    "Snapshot",
    "fit",
    "load_recipe",
]
