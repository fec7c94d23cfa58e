"""What a way to evaluate log p(x) is."""

import abc
from threading import Event
from typing import Any, ClassVar

from wakesleep.evaluation.records import Records


class Evaluator(abc.ABC):
    """Evaluates tiles of examples, each independently of all others.

    Attributes:
        needs_full_tiles: whether a tile of fewer examples must be filled up, so that one shape
            is compiled.
    """

    needs_full_tiles: ClassVar[bool] = True

    @property
    def exact(self) -> bool:
        """Whether log p(x) is computed and not estimated."""
        return False

    @property
    @abc.abstractmethod
    def examples(self) -> int:
        """How many examples each call takes."""

    @property
    @abc.abstractmethod
    def bytes_per_tile(self) -> int:
        """Memory that one call takes, roughly and from above."""

    @abc.abstractmethod
    def __call__(self, x: Any, tile: int, stop: Event) -> Records:
        """The records of a tile of examples, an array `[E, D]` or a tree of arrays `[E, ...]`.

        May give up when `stop` is set: nobody then reads what it returns.
        """
