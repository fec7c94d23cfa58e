"""Training in passes over rows that may come in parts."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, cast

from sklearn.utils import check_random_state

from wakesleep.data import Dataset
from wakesleep.inference.features import check_features
from wakesleep.models import BitModel
from wakesleep.recipe import Recipe
from wakesleep.training import FitResult, first_snapshot, fit, fit_automatic, initial_model
from wakesleep.training.automatic import is_automatic
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

    def go_on(self, data: Dataset, recipe: Recipe, *, shown: bool) -> tuple[FitResult, "Passes"]:
        """Train on these rows with the parameters and the optimiser that are there."""
        # Passes already done are counted, so that a further one has other noise.
        start = Snapshot(self.snapshot.arrays, Position(epoch=self.done), Best(), seconds=0.0)
        model = self.snapshot.arrays.state.model
        result = fit(model, data, recipe, seed=self.seed, resume=start, progress=shown)
        return result, Passes(result.snapshot, self.seed, self.done + len(result.history))


def begin(
    parameters: dict[str, Any], data: Dataset, recipe: Recipe, seed: int
) -> tuple[FitResult, Passes]:
    """Train an estimator's architecture by a recipe, or the automatic model by its own."""
    shown = bool(parameters["verbose"])
    if is_automatic(parameters["architecture"]):
        result = fit_automatic(data, minutes=parameters["minutes"], seed=seed, progress=shown)
        check_features(cast(BitModel, result.model), parameters["features"])
        # Further passes are by the recipe of the parameters, with an optimiser of its own.
        further = first_snapshot(result.snapshot.arrays.best, data, recipe, seed)
        return result, Passes(further, seed, len(result.history))
    model = initial_model(parameters["architecture"], data, recipe, seed)
    check_features(model, parameters["features"])
    start = Passes(first_snapshot(model, data, recipe, seed), seed)
    return start.go_on(data, recipe, shown=shown)


def recipe_of(parameters: dict[str, Any], epochs: int, schedule: Any) -> Recipe:
    """The recipe that an estimator's parameters say."""
    estimator, samples = parameters["estimator"], parameters["samples"]
    table = {"name": estimator} if isinstance(estimator, str) else dict(estimator)
    return Recipe(
        epochs=int(epochs),
        estimator=table if samples is None else {**table, "samples": int(samples)},
        batch_size=int(parameters["batch_size"]),
        learning_rate=float(parameters["learning_rate"]),
        weight_decay=float(parameters["weight_decay"]),
        patience=int(parameters["patience"]),
        schedule=schedule,
    )


def draw_seed(random_state: Any) -> int:
    """A whole number is the seed itself, as everywhere else in the package."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
