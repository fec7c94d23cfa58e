"""Fields of plain values that strangers wrote, each with what it must be."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from wakesleep.errors import DataError
from wakesleep.schema.frame import quoted


class Reader:
    """Fields of a mapping, each with what it must be."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = values
        self.where = where

    def get(self, name: str, read: Callable[[Any], Any]) -> Any:
        """A field, as `read` makes it; its `ValueError` says what it must be."""
        if name not in self.values:
            raise DataError(f"{self.where} has no {name!r}")
        try:
            return read(self.values[name])
        except ValueError as error:
            raise DataError(
                f"{self.where}: {name!r} must be {error}, not {quoted(str(self.values[name]))}"
            ) from None


def a_text(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ValueError("a text")
    return value


def a_flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def a_count(value: Any) -> int:
    """A whole number of at least 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("a whole number of at least 0")
    return value


def a_share(value: Any) -> float:
    """A number from 0 to 1."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ValueError("a number from 0 to 1")
    return float(value)


def a_list(value: Any) -> list[Any]:
    """A list of anything."""
    if not isinstance(value, list | tuple):
        raise ValueError("a list")
    return list(value)


def a_mapping(value: Any) -> Mapping[str, Any]:
    """A table."""
    if not isinstance(value, Mapping):
        raise ValueError("a table")
    return value


def texts(value: Any) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise ValueError("a list of texts")
    return tuple(value)


def numbers(value: Any) -> Any:
    """A list of finite numbers, as an array."""
    if not isinstance(value, list | tuple) or not all(
        isinstance(one, int | float) and not isinstance(one, bool) for one in value
    ):
        raise ValueError("a list of numbers")
    found = np.array(value, np.float64)
    if not np.isfinite(found).all():
        raise ValueError("a list of finite numbers")
    return found


def maybe(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same, or nothing."""
    return lambda value: None if value is None else read(value)


def one_of(*names: str) -> Callable[[Any], Any]:
    """One of these words."""

    def read(value: Any) -> Any:
        if value not in names:
            raise ValueError(f"one of {', '.join(names)}")
        return value

    return read
