"""A griffe extension: examples in docstrings are shown as code, wherever they stand."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?m)^([ ]*)>>> (?:.*\n?)(?:^(?![ ]*$).*\n?)*")


class DoctestBlocks(griffe.Extension):
    """Fences every run of lines that starts with a prompt and ends at a blank line."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring's text before it is read."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(_fenced, obj.docstring.value)


def _fenced(match: re.Match[str]) -> str:
    indent, lines = match[1], match[0].rstrip("\n")
    return f"{indent}```pycon\n{lines}\n{indent}```\n"
