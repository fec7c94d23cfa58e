"""Options typed as NAME=VALUE."""

import tomllib
from typing import Any

from wakesleep.errors import UsageError


def name_and_value(words: str, option: str) -> tuple[str, Any]:
    """`samples=5` as a name and a value: a number or true or false if it reads as one.

    `True` does too: the command's other switches take it.
    """
    name, equals, text = (part.strip() for part in words.partition("="))
    if not (name and equals and text):
        raise UsageError(f"--{option} takes NAME=VALUE, not '{words}'")
    if text in ("True", "False"):
        return name, text == "True"
    try:
        return name, tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return name, text
