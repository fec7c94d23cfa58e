"""The page about estimators names every one of them, with every option and its default."""

import dataclasses
import re
from pathlib import Path

import pytest

from wakesleep.estimators import ESTIMATORS

PAGE = (Path(__file__).parents[2] / "docs" / "estimators.md").read_text(encoding="utf-8")
BUILTIN = {n: kind for n, kind in ESTIMATORS.items() if kind.__module__.startswith("wakesleep.")}


def section(name):
    (text,) = re.findall(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    return text


def documented(name):
    """Options and defaults of the section's table."""
    rows = re.findall(r"^\| (`[^|]*`) \|[^|]*\| ([^|]*) \|", section(name), re.MULTILINE)
    return {option: default for names, default in rows for option in re.findall(r"`(\w+)`", names)}


@pytest.mark.parametrize("name", BUILTIN)
def test_an_estimator_s_options_are_on_the_page(name):
    assert f"| [`{name}`](#{name}) |" in PAGE
    fields = {field.name: field.default for field in dataclasses.fields(BUILTIN[name])}
    table = documented(name)
    assert table.keys() == fields.keys()
    for option, default in fields.items():
        shown = (
            table[option] == "true" if isinstance(default, bool) else type(default)(table[option])
        )
        assert shown == default, option
