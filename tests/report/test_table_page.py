"""The page of a run on a table, and the numbers behind it."""

import json

import numpy as np
import pytest
from scipy.stats.contingency import association as scipy_association

import wakesleep as ws
from tests.report import browser
from tests.report.conftest import COLUMN, LEVEL, ODD_ROW
from tests.report.page import Page
from wakesleep.cli import main
from wakesleep.errors import DataError
from wakesleep.runs.association import cramers_v
from wakesleep.runs.nearest_rows import closer_share, nearest_distances
from wakesleep.runs.table_numbers import table_numbers_of


@pytest.fixture(scope="module")
def numbers(table_run):
    return json.loads((table_run / "table.json").read_text())


def test_the_page_has_every_part_and_names_stay_names(table_run):
    page = Page(table_run / "report.html")
    for heading in (
        "The table's columns",
        "Data and samples, column by column",
        "Which columns go together",
        "The oddest rows",
        "Missing cells",
        "Are samples copies?",
    ):
        assert heading in page.text
    assert COLUMN in page.text
    assert LEVEL in page.text
    assert not page.all("b")
    assert len(page.all("script")) == 1
    assert "Receptive fields" not in page.text


def test_what_the_row_tells_is_the_gain_over_the_column_alone(numbers):
    """The colour tells the size, and nothing tells the answer."""
    predicted = numbers["predicted"]
    gain = dict(zip(("colour", "size", "answer"), predicted["gain"], strict=True))
    assert gain["colour"] > 0.3
    assert gain["size"] > 0.3
    assert abs(gain["answer"]) < 0.1
    differences = np.subtract(predicted["marginal_nats"], predicted["nats"])
    np.testing.assert_allclose(predicted["gain"], differences, atol=1e-9)


def test_an_odd_row_is_found_by_its_number_its_name_and_its_cells(numbers):
    first = numbers["odd_rows"]["rows"][0]
    assert numbers["odd_rows"]["looked_at"] == 300
    assert len(numbers["odd_rows"]["rows"]) == 20
    assert first["row"] == ODD_ROW
    assert first["identifiers"] == {"id": f"row-{ODD_ROW}"}
    assert {(column, value) for column, value, _ in first["cells"][:2]} == {
        (COLUMN, "green"),
        ("size", "64"),
    }
    assert first["cells"][0][2] > 1


def test_gaps_are_counted(numbers, table_run):
    data = ws.load_run(table_run).data
    missing = 1 - data.train.observed[:].mean(axis=0)
    np.testing.assert_allclose(numbers["gaps"]["columns"], missing, atol=1e-6)
    assert numbers["gaps"]["patterns"] == [{"columns": [1], "rows": numbers["gaps"]["rows"]}]


def test_marginals_and_associations_are_those_of_the_rows(numbers, table_run):
    data = ws.load_run(table_run).data
    codes = data.schema.codes(data.train[:], data.train.observed[:])
    for group, shares in enumerate(numbers["marginals"]["data"]):
        seen = codes[codes[:, group] >= 0, group]
        np.testing.assert_allclose(shares, np.bincount(seen, minlength=len(shares)) / len(seen))
    found = np.array(numbers["association"]["data"])
    assert found[0, 1] > 0.6
    assert found[0, 2] < 0.2
    assert abs(numbers["association"]["samples"][0][1] - found[0, 1]) < 0.2


def test_cramers_v_is_scipys_but_for_the_bias(key):
    rng = np.random.default_rng(1)
    a = rng.integers(0, 4, 40_000).astype(np.int32)
    b = np.where(rng.random(len(a)) < 0.6, a % 3, rng.integers(0, 3, len(a))).astype(np.int32)
    table = np.bincount(a * 3 + b, minlength=12).reshape(4, 3)
    assert abs(cramers_v(a, b) - scipy_association(table, method="cramer")) < 1e-3
    few = slice(0, 50)
    unrelated = [cramers_v(rng.permutation(a[few]), b[few]) for _ in range(200)]
    # Without the correction the mean of these would be 0.24.
    assert np.mean(unrelated) < 0.1


def test_distances_and_copies(table_run):
    run = ws.load_run(table_run)
    data, schema = run.data, run.schema
    codes = schema.codes(data.train[:], data.train.observed[:])
    assert nearest_distances(schema, codes[:40], codes).max() == 0
    places = schema.modelled[1].bins.order().argsort() / (schema.states[1] - 1)

    def distance(a, b):
        size = float((a[1] < 0) != (b[1] < 0))
        if a[1] >= 0 and b[1] >= 0:
            size = abs(places[a[1]] - places[b[1]])
        return (float(a[0] != b[0]) + size + float(a[2] != b[2])) / 3

    slow = [min(distance(row, other) for other in codes[50:80]) for row in codes[:40]]
    np.testing.assert_allclose(nearest_distances(schema, codes[:40], codes[50:80]), slow, atol=1e-6)
    assert closer_share(np.zeros(5), np.ones(7)) == 1
    assert closer_share(np.ones(5), np.ones(7)) == 0.5


def test_numbers_of_another_model_are_made_anew(table_run, tmp_path):
    run = ws.load_run(table_run)
    before = (table_run / "table.json").read_text()
    try:
        (table_run / "table.json").write_text("{")
        with pytest.raises(DataError, match=r"table.json cannot be read .* remove it"):
            table_numbers_of(run)
        (table_run / "table.json").write_text(json.dumps({"model": "another"}))
        assert table_numbers_of(run) == json.loads(before)
    finally:
        (table_run / "table.json").write_text(before)


def test_a_table_of_bits_with_names_has_such_a_page_too(tmp_path):
    rng = np.random.default_rng(0)
    rows = "\n".join(",".join(map(str, row)) for row in rng.integers(0, 2, (60, 3)))
    (tmp_path / "bits.csv").write_text(f"a,b,c\n{rows}\n")
    words = ["train", str(tmp_path / "bits.csv"), "--model", "nade(hidden=2)", "--epochs", "1"]
    assert main([*words, "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert main(["report", str(tmp_path / "run"), "--quiet"]) == 0
    text = Page(tmp_path / "run" / "report.html").text
    assert "No cell of the 48 training rows is missing." in text


@pytest.mark.skipif(browser.absence() is not None, reason=str(browser.absence()))
def test_a_phone_in_the_dark_shows_it_without_errors(table_run):
    with browser.chromium(browser.PHONE, dark=True) as driver:
        driver.get((table_run / "report.html").as_uri())
        assert driver.get_log("browser") == []
        overflow = "return document.documentElement.scrollWidth > document.body.clientWidth + 40"
        assert not driver.execute_script(overflow)
        assert len(driver.find_elements("css selector", "svg.map rect title")) == 27
