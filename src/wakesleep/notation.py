"""The parts of an architecture's notation: a kind with options in brackets, and sizes."""

import re
from typing import Any

from wakesleep.errors import UsageError

EXAMPLE = "'sbn/nade 10-200-200' or 'nade(hidden=100)/sbn 50'"
MOST_UNITS = 10**9
"""In one layer; a larger number is a slip of the hand, or not of this world."""


def parse_kind(text: str) -> tuple[str, dict[str, Any]]:
    """`nade(hidden=100)` as a kind and its options."""
    parts = re.fullmatch(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", text)
    if not parts:
        raise UsageError(f"layer '{text}' is not a kind with options in brackets, as in {EXAMPLE}")
    kind = parts[1].replace("-", "_")
    options = dict(_parse_option(part) for part in (parts[2] or "").split(",") if part.strip())
    return kind, options


def _parse_option(text: str) -> tuple[str, int | float | str]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name and equals and value):
        raise UsageError(f"layer option '{text.strip()}' is not of the form name=value")
    return name, _parse_value(value)


def _parse_value(text: str) -> int | float | str:
    if re.fullmatch(r"[+-]?\d{1,18}", text):
        return int(text)
    if re.fullmatch(r"[+-]?(\d+\.\d*|\.?\d+)(e[+-]?\d+)?", text):
        return float(text)
    return text


def parse_sizes(text: str, whole: str) -> tuple[int, ...]:
    """`10-200` as sizes from the data upwards; `whole` is what they are part of."""
    parts = re.sub(r"\s", "", text).split("-")
    if not all(re.fullmatch(r"\d{1,10}", part) and 0 < int(part) <= MOST_UNITS for part in parts):
        raise UsageError(
            f"sizes '{text}' in '{whole}' must be positive numbers up to {MOST_UNITS} joined by '-'"
        )
    return tuple(int(part) for part in reversed(parts))
