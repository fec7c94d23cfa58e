"""Every estimator has a page, with every option and its default, and a line in the overview."""

import dataclasses
import re
from pathlib import Path

import pytest

from wakesleep.estimators import ESTIMATORS

DOCS = Path(__file__).parents[2] / "docs"
OVERVIEW = (DOCS / "estimators.md").read_text(encoding="utf-8")
BUILTIN = {n: kind for n, kind in ESTIMATORS.items() if kind.__module__.startswith("wakesleep.")}


def documented(name):
    """Options and defaults of the page's table."""
    page = (DOCS / "estimators" / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {name}\n")
    rows = re.findall(r"^\| (`[^|]*`) \|[^|]*\| ([^|]*) \|", page, re.MULTILINE)
    return {option: default for names, default in rows for option in re.findall(r"`(\w+)`", names)}


@pytest.mark.parametrize("name", BUILTIN)
def test_an_estimator_s_options_are_on_its_page(name):
    assert f"| [`{name}`](estimators/{name}.md) |" in OVERVIEW
    fields = {field.name: field.default for field in dataclasses.fields(BUILTIN[name])}
    table = documented(name)
    assert table.keys() == fields.keys()
    for option, default in fields.items():
        shown = (
            table[option] == "true" if isinstance(default, bool) else type(default)(table[option])
        )
        assert shown == default, option
