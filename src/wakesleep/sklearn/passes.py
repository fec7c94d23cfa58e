"""Training in passes over rows that may come in parts."""

from dataclasses import dataclass
from typing import Any

from wakesleep.data import Dataset
from wakesleep.recipe import Recipe
from wakesleep.training import FitResult, first_snapshot, fit, initial_model
from wakesleep.training.snapshot import Best, Position, Snapshot


@dataclass(frozen=True, eq=False)
class Passes:
    """Where training stands between two calls.

    Attributes:
        snapshot: the parameters and the optimiser.
        seed: of everything random.
        done: passes so far.
    """

    snapshot: Snapshot
    seed: int
    done: int = 0

    @classmethod
    def begin(cls, architecture: str, data: Dataset, recipe: Recipe, seed: int) -> "Passes":
        """Parameters to start from."""
        model = initial_model(architecture, data, recipe, seed)
        return cls(first_snapshot(model, data, recipe, seed), seed)

    def go_on(self, data: Dataset, recipe: Recipe, *, shown: bool) -> tuple[FitResult, "Passes"]:
        """Train on these rows with the parameters and the optimiser that are there."""
        # Passes already done are counted, so that a further one has other noise.
        start = Snapshot(self.snapshot.arrays, Position(epoch=self.done), Best(), seconds=0.0)
        model = self.snapshot.arrays.state.model
        result = fit(model, data, recipe, seed=self.seed, resume=start, progress=shown)
        return result, Passes(result.snapshot, self.seed, self.done + len(result.history))


def recipe_of(parameters: dict[str, Any], epochs: int, schedule: Any) -> Recipe:
    """The recipe that an estimator's parameters say."""
    return Recipe(
        epochs=int(epochs),
        estimator={"name": "reweighted", "samples": int(parameters["samples"])},
        batch_size=int(parameters["batch_size"]),
        learning_rate=float(parameters["learning_rate"]),
        weight_decay=float(parameters["weight_decay"]),
        patience=int(parameters["patience"]),
        schedule=schedule,
    )
