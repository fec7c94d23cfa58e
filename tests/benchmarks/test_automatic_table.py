"""The table of docs/automatic.md is made from its results file, and no line of it is a loss."""

import json
from pathlib import Path

import pytest
from benchmarks.automatic import table

ROOT = Path(__file__).parents[2]
SETS = json.loads((ROOT / "results" / "benchmarks" / "automatic.json").read_text())["sets"]


def test_the_page_has_the_table_of_the_results():
    assert table(SETS) in (ROOT / "docs" / "automatic.md").read_text()


def test_every_line_names_the_commit_that_made_it():
    page = (ROOT / "docs" / "automatic.md").read_text()
    assert all(found["commit"][:7] in page for found in SETS.values())


@pytest.mark.parametrize("name", SETS)
def test_the_default_beats_a_mixture_and_is_not_behind_one_nade(name):
    found = SETS[name]
    ours = found["default"]["test"]
    assert ours > found["bernoulli mixture"]["test"]
    assert ours > found["one NADE"]["test"] * 1.001
