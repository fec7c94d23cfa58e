"""Writes the tutorials' notebooks from their pages: python docs/make_notebooks.py

A page is the source: its Python and shell blocks become cells, what stands between them text.
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


def notebook_path(page: Path) -> Path:
    """Where a page's notebook is."""
    return ROOT / "examples" / f"tutorial-{page.stem}.ipynb"


def notebook(page: Path) -> str:
    """A page as a notebook, in format 4.5."""
    text = page.read_text(encoding="utf-8")
    parts = re.split(r"```(python|sh)\n(.*?)```\n", text, flags=re.DOTALL)
    cells = [_cell("markdown", 0, _text(parts[0]))]
    for number, start in enumerate(range(1, len(parts), 3), start=1):
        language, code, words = parts[start : start + 3]
        lines = code.strip("\n")
        if language == "sh":
            lines = "\n".join(f"!{line}" for line in lines.splitlines())
        cells.append(_cell("code", 2 * number - 1, lines))
        if words.strip():
            cells.append(_cell("markdown", 2 * number, _text(words)))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    values = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(values, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, number: int, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell | {"source": text.splitlines(keepends=True)}


def _text(words: str) -> str:
    """Links of a page as they lead from examples/."""
    words = re.sub(r"\]\(\.\./(?!\.)", "](../docs/", words.strip("\n"))
    return re.sub(r"\]\((?!https:|\.\.|#)", "](../docs/tutorials/", words)


if __name__ == "__main__":
    for page in PAGES:
        notebook_path(page).write_text(notebook(page), encoding="utf-8")
        print(f"wrote {notebook_path(page).relative_to(ROOT)}")
