"""What the benchmark of people's tables makes of its numbers."""

import json

import pytest
from benchmarks.tables.page import NAME, write_page
from benchmarks.tables.record import Store
from benchmarks.tables.summary import interval, verdict, write_summaries


def test_a_killed_benchmark_goes_on(tmp_path):
    store = Store(tmp_path / "measured.jsonl")
    row = {"part": "features", "table": "people", "split": 0, "method": "PCA", "rows": 9}
    store.add(row)
    with store.path.open("a") as file:
        file.write('{"part": "featu')
    again = row | {"split": 1}
    store.add(again)
    assert store.rows() == [row, again]
    assert len(store.done()) == 2


def test_intervals_and_verdicts():
    found = {"ours": interval([0.8, 0.8]), "PCA": interval([0.7, 0.9]), "raw": interval([0.2, 0.4])}
    # Student's t with one degree of freedom: 12.706 standard errors.
    assert found["PCA"]["half_width"] == pytest.approx(12.706 * 0.1, rel=1e-4)
    assert verdict("AUC", found) == "best"
    assert verdict("AUC", found | {"ours": interval([0.7, 0.7])}) == "within"
    assert verdict("AUC", found | {"PCA": interval([0.9])}) == "behind"
    assert verdict("error: age", found | {"raw": interval([0.3])}) == "behind"
    assert verdict("error: age", found | {"ours": interval([0.1])}) == "best"


def measured(part, table, split, method, values):
    """A line of the file."""
    row = {"part": part, "table": table, "split": split, "method": method, "values": values}
    return row | {"rows": 120, "seconds": 1.0, "commit": "abc"}


def test_who_was_given_some_tables_stands_beside_ours_on_these(tmp_path):
    scores = {"people": {"ours": 0.6, "mixture": 0.5, "TVAE": 0.7}, "cars": {"ours": 0.9}}
    scores["cars"]["mixture"] = 0.8
    rows = [
        measured("synthetic", table, 0, method, {"learned": value})
        for table, found in scores.items()
        for method, value in found.items()
    ]
    write_summaries(rows, tmp_path)
    write_page(tmp_path, tmp_path)
    page = (tmp_path / NAME).read_text()
    assert "means over the tables: ours 0.750, mixture 0.650; on 1 that TVAE was given: " in page
    assert "given: ours 0.600, TVAE 0.700." in page


def test_the_page_shows_losses(tmp_path):
    rows = [
        measured("features", "people", split, method, {"AUC": auc + 0.01 * split, "features": 3})
        for split in (0, 1)
        for method, auc in (("ours", 0.6), ("one-hot columns", 0.9))
    ]
    write_summaries(rows, tmp_path)
    assert json.loads((tmp_path / "features.json").read_text())["tables"]["people"]["splits"] == [
        0,
        1,
    ]
    write_page(tmp_path, tmp_path)
    page = (tmp_path / NAME).read_text()
    assert "ours is best in 0 of 1" in page
    assert "not been measured" not in page
    assert "**0.905 ± 0.064**" in page
