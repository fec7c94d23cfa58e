"""The page of several processes says what its file of results says, and adds up."""

import json
from pathlib import Path

import pytest
from benchmarks.machine import RESULTS
from benchmarks.processes import PAGE, on_paper, page, sent_by_each

RESULT = json.loads((RESULTS / "processes.json").read_text(encoding="utf-8"))


def test_the_page_is_made_of_the_results():
    assert PAGE.read_text(encoding="utf-8") == page(RESULT)
    assert RESULT["on_paper"] == on_paper(RESULT["rows"])
    root = Path(__file__).parents[2]
    assert f"]({PAGE.relative_to(root / 'docs')})" in (
        root / "docs/howto/cluster.md"
    ).read_text().replace("../", "")


def test_no_more_is_sent_than_the_pieces_of_gradients():
    counted = [row for row in RESULT["rows"] if row["processes"] > 1]
    assert {row["processes"] for row in counted} == {2, 4}
    for row in counted:
        assert row["by_arithmetic"] == sent_by_each(4 * RESULT["parameters"], row["processes"])
        assert row["bytes_per_step"] == pytest.approx(row["by_arithmetic"], rel=0.01)
