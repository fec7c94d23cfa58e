"""Sentences' ways out in Python's words, where they are in those of the command line."""

import re
import shlex


def in_python(text: str) -> str:
    """A sentence's way out in Python's words, where it is in those of the command line.

    >>> in_python("left out: a running number; --column x0=numeric keeps it")
    "left out: a running number; columns={'x0': 'numeric'} keeps it"
    """
    text = re.sub(r"--missing-markers=[^\s;)]+|'--missing-markers=[^']*'", "None for it", text)
    return re.sub(r"--column ('(?:[^']|'\"'\"')*'|[^\s;,]*[^\s;,:)])", _as_mapping, text)


def _as_mapping(option: re.Match[str]) -> str:
    name, _, kind = shlex.split(option[1])[0].rpartition("=")
    return f"columns={{{name!r}: {kind!r}}}"
