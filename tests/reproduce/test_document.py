"""The page of results, as it is written from result files."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from wakesleep.reproduce import drawing
from wakesleep.reproduce.document import document, verdict, write_document

ROOT = Path(__file__).parents[2]


def with_result(store, row, nll):
    """A result as `run_row` writes it, with this NLL on the test set."""
    evaluation = {"method": "exact", "examples": 10, "samples_per_example": 0}
    store.write_result(
        row,
        {
            **{"nll": nll, "interval": 0.1, "paper_nll": row.paper_nll, "samples": 1},
            **{"tolerance": None, "evaluation": evaluation, "epochs": 2, "commit": "abc"},
            **{"data": "dna", "binarisation": "already binary"},
            **{"training_seconds": 60.0, "evaluation_seconds": 1.0},
            "curve": {"processor_seconds": [30.0, 60.0], "valid_ll": [-90.0, -88.0]},
        },
    )


@pytest.mark.parametrize("above", [True, False])
def test_a_row_above_the_papers_number_has_its_curve_and_what_comes_next(store, tmp_path, above):
    row = store.experiment("eonade").row("adult: EoNADE")
    assert row.next
    with_result(store, row, row.paper_nll + (1.0 if above else -1.0))
    write_document(store, tmp_path / "docs")
    text = (tmp_path / "docs" / "results.md").read_text()
    assert (f"- adult: EoNADE: {row.next}" in text.splitlines()) is above
    assert ("(figures/eonade-missed.png)" in text) is above
    assert (tmp_path / "docs" / "figures" / "eonade-missed.png").exists() is above


def test_a_machine_whose_normaliser_is_estimated_shows_both_sides_of_it(store):
    row = store.experiment("table2-mnist").row("RBM 500 CD-3")
    with_result(store, row, 100.0)
    result = store.result(row)
    sides = {"lower": 700.0, "upper": 700.5, "lower_error": 0.2, "upper_error": 0.1, "exact": False}
    result["evaluation"] |= {"method": "importance", "log_normaliser": sides}
    store.write_result(row, result)
    text = document(store)
    # The NLL of the table has log Z half way between: a lower log Z means a higher likelihood.
    below, above = "700.00 ± 0.20 (NLL 99.75) from below", "700.50 ± 0.10 (NLL 100.25) from above"
    assert f"- RBM 500 CD-3: {below}, {above}" in text.splitlines()
    assert "| exact but for log Z | 2 |" in text


def test_verdicts():
    assert verdict(90.0, 0.5, 90.1) == "yes"
    assert verdict(90.5, 0.5, 90.1) == "within the interval"
    assert verdict(91.0, 0.5, 90.1) == "no"
    assert verdict(91.0, 0.5, None) == ""


def test_rows_not_run_are_shown_as_not_run(store, tmp_path):
    write_document(store, tmp_path / "docs")
    text = (tmp_path / "docs" / "results.md").read_text()
    assert "| SBN/NADE 200-200 | 91.10 | not run |" in text
    assert "| rcv1: RWS-NADE | 46.09 | no data here |" in text


def test_the_page_says_what_was_tried(store):
    row = store.experiment("table3").row("web: RWS-NADE")
    assert row.tried
    assert f"- web: RWS-NADE: {row.tried}" in document(store).splitlines()


def test_figure_2a_has_the_number_of_the_papers_table(store):
    axes = Figure().subplots()
    result = {"SBN/SBN 200": {"counts": [1, 10], "log_likelihood": [-120.0, -110.0]}}
    drawing._test_samples(axes, store, store.experiment("fig2a"), result)
    assert [-103.1, -103.1] in [list(line.get_ydata()) for line in axes.lines]


def test_the_committed_page_is_made_of_the_committed_results(committed):
    assert (ROOT / "docs" / "results.md").read_text() == document(committed)
