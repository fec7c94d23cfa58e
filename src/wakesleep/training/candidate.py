"""A model that could be trained, and how."""

from dataclasses import dataclass

from wakesleep.recipe import Recipe


@dataclass(frozen=True)
class Candidate:
    """A model and the recipe to train it by, under a name that can be a folder's.

    `seed` is added to the seed of the choice.
    """

    name: str
    model: str
    recipe: Recipe
    seed: int = 0

    @property
    def updates(self) -> int:
        """The most updates that it is trained for."""
        return self.recipe.epochs * self.recipe.epoch_updates
