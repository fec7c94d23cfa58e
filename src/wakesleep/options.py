"""Options that people set, checked by what is declared beside each: kind, range, choices.

A dataclass declares an option as `Annotated[int, Whole(least=1)]`; a kind of layer declares its
own in a mapping. No JAX here: the command line reads options to answer `--help`.
"""

import dataclasses
import urllib.parse
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, get_args, get_type_hints, runtime_checkable

from wakesleep.errors import UsageError


@runtime_checkable
class Rule(Protocol):
    """What a value must be; `problem` says what is wrong with one, or None."""

    def problem(self, value: Any) -> str | None:
        """As in "must be 1 or more"."""


@dataclass(frozen=True)
class Whole:
    """A whole number from `least` to `most`, which is more than any count here can be."""

    least: int = 0
    most: int = 10**9

    def problem(self, value: Any) -> str | None:
        """A bool is no number here."""
        if not isinstance(value, int) or isinstance(value, bool):
            return "must be a whole number"
        if value > self.most:
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
            start = f"from {self.least:g}" if self.above is None else f"more than {self.above:g}"
            return f"must be {start} {'to' if self.above is None else 'and at most'} {self.most:g}"
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
class Text:
    """Characters, as many as a path can have."""

    most: int = 4096

    def problem(self, value: Any) -> str | None:
        """Of any kind."""
        if not isinstance(value, str):
            return "must be a text"
        return None if len(value) <= self.most else f"must have at most {self.most} characters"


@dataclass(frozen=True)
class Address:
    """Of a web server: http or https, and a host."""

    def problem(self, value: Any) -> str | None:
        """As the standard library takes it apart."""
        try:
            parts = urllib.parse.urlsplit(value)
            proper = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
        except ValueError:
            proper = False
        return None if proper else "must be an http or https address"


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


SEED = Whole(most=2**32 - 1)

Seed = Annotated[int, SEED]
"""Of JAX's and NumPy's randomness: all that a key of JAX is told apart by."""

Count = Annotated[int, Whole(least=1)]
"""Of samples, rows and the like, of which there must be some."""

Minutes = Annotated[float | int | None, Number(above=0)]
"""A budget."""

Gigabytes = Annotated[float | int, Number(above=0, most=10**6)]
"""Memory to stay within."""

Tolerance = Annotated[float | int | None, Number(above=0)]
"""In nats."""


def check_option(name: str, value: Any, rule: Rule) -> None:
    """Raise a `UsageError` that says what is wrong and what would be right."""
    problem = rule.problem(value)
    if problem:
        raise UsageError(f"{name} {problem}, not {_shortened(repr(value))}")


def _shortened(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:97]}..."


def check_declared(instance: Any) -> None:
    """Check every field of a dataclass whose annotation carries a rule."""
    for name, rule in declared(type(instance)).items():
        value = getattr(instance, name)
        if value is not None or not _may_be_none(type(instance), name):
            check_option(name, value, rule)


def _may_be_none(kind: type, name: str) -> bool:
    return type(None) in get_args(get_type_hints(kind)[name])


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
