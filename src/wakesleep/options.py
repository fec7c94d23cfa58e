"""Options that people set, checked by what is declared beside each: kind, range, choices.

A dataclass declares an option as `Annotated[int, Whole(least=1)]`; a kind of layer declares its
own in a mapping. No JAX here: the command line reads options to answer `--help`.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Protocol, get_args, get_type_hints, runtime_checkable

from wakesleep.errors import UsageError


@runtime_checkable
class Rule(Protocol):
    """What a value must be; `problem` says what is wrong with one, or None."""

    def problem(self, value: Any) -> str | None:
        """As in "must be 1 or more"."""


@dataclass(frozen=True)
class Whole:
    """A whole number of at least `least`, and at most `most` where that is given."""

    least: int = 0
    most: int | None = None

    def problem(self, value: Any) -> str | None:
        """A bool is no number here."""
        if not isinstance(value, int) or isinstance(value, bool):
            return "must be a whole number"
        if self.most is not None and value > self.most:
            return f"must be at most {self.most}"
        return None if value >= self.least else f"must be {self.least} or more"


@dataclass(frozen=True)
class Even:
    """An even number, for what comes in pairs."""

    least: int = 0

    def problem(self, value: Any) -> str | None:
        """Whole numbers first."""
        problem = Whole(self.least).problem(value)
        return problem or ("must be an even number" if value % 2 else None)


@dataclass(frozen=True)
class Number:
    """A finite number of at least `least`, or above `above` where that is given.

    `most` and `below` are where it ends, if it does.
    """

    least: float | int = 0.0
    above: float | int | None = None
    most: float | int = float("inf")
    below: float | int = float("inf")

    def problem(self, value: Any) -> str | None:
        """Neither nan nor infinity is a number here."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            return "must be a number"
        low = self.least <= value if self.above is None else self.above < value
        if low and value <= self.most and value < self.below:
            return None
        if self.most < float("inf"):
            return f"must be from {self.least:g} to {self.most:g}"
        end = f" and below {self.below}" if self.below < float("inf") else ""
        start = f"{self.least:g} or more" if self.above is None else f"more than {self.above}"
        return f"must be {start}{end}"


@dataclass(frozen=True)
class Fraction:
    """A number from 0 to below 1."""

    def problem(self, value: Any) -> str | None:
        """1 itself is left out."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            return "must be a number"
        return None if 0 <= value < 1 else "must be at least 0 and below 1"


@dataclass(frozen=True)
class Choice:
    """One of some names."""

    names: tuple[str, ...]

    def problem(self, value: Any) -> str | None:
        """By name, exactly."""
        return None if value in self.names else f"must be one of {', '.join(self.names)}"


@dataclass(frozen=True)
class Switch:
    """On or off."""

    def problem(self, value: Any) -> str | None:
        """No number stands for it."""
        return None if isinstance(value, bool) else "must be true or false"


def check_option(name: str, value: Any, rule: Rule) -> None:
    """Raise a `UsageError` that says what is wrong and what would be right."""
    problem = rule.problem(value)
    if problem:
        raise UsageError(f"{name} {problem}, not {value!r}")


def check_declared(instance: Any) -> None:
    """Check every field of a dataclass whose annotation carries a rule."""
    for name, rule in declared(type(instance)).items():
        check_option(name, getattr(instance, name), rule)


def declared(kind: type) -> dict[str, Rule]:
    """The rules of a dataclass's fields, by name."""
    hints = get_type_hints(kind, include_extras=True)
    rules = {}
    for field in dataclasses.fields(kind):
        for extra in get_args(hints[field.name])[1:]:
            if hasattr(extra, "problem"):
                rules[field.name] = extra
    return rules


def unknown_option(what: str, name: str, valid: list[str]) -> UsageError:
    """The error for an option that is not there."""
    return UsageError(f"{what} has no option '{name}'; valid: {', '.join(valid) or 'none'}")
