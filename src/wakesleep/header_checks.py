"""What a model file's header may say: numbers, sizes and depths within reason."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from wakesleep.errors import UsageError
from wakesleep.notation import MOST_UNITS
from wakesleep.options import Whole

MOST_LAYERS = 1000

OWN_DIGEST = "header_sha256"


def signed(header: Mapping[str, Any]) -> dict[str, Any]:
    """The header with the digest of all else that it says, the digest of the arrays among it.

    It finds damage and careless edits; whoever means to can sign a header of his own.
    """
    rest = {name: value for name, value in header.items() if name != OWN_DIGEST}
    # As a file gives it back: JSON turns names that are numbers into strings.
    plain = json.dumps(json.loads(json.dumps(rest)), sort_keys=True)
    return {**header, OWN_DIGEST: hashlib.sha256(plain.encode()).hexdigest()}


def check_count(name: str, value: Any, least: int) -> None:
    """Raise a `UsageError` for what is no count of `least` or more."""
    problem = Whole(least).problem(value)
    if problem or value > MOST_UNITS:
        raise UsageError(f"its {name} {problem or f'must be at most {MOST_UNITS}'}, not {value!r}")


def check_numbers(options: Mapping[str, Any]) -> None:
    """Raise a `UsageError` for a number that is too large for an option."""
    for name, value in options.items():
        if isinstance(value, int) and value > MOST_UNITS:
            raise UsageError(f"its {name} must be at most {MOST_UNITS}, not {value}")


def check_depth(layers: int) -> None:
    """Raise a `UsageError` for too many layers."""
    if layers > MOST_LAYERS:
        raise UsageError(f"its {layers} layers are more than the {MOST_LAYERS} that are allowed")


def checked_groups(groups: Any, features: int) -> tuple[int, ...] | None:
    """The sizes of groups, or None where there are none."""
    if groups is None:
        return None
    if not (isinstance(groups, list) and len(groups) <= features):
        raise UsageError("its groups are not a list of sizes")
    for size in groups:
        check_count("group size", size, least=1)
    return tuple(groups)
