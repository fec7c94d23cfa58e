"""The pages as a parser reads them; tests/report/test_browser.py looks at them."""

import json
import shutil

import numpy as np
import pytest

from tests.report.conftest import NASTY
from tests.report.page import Page
from wakesleep.cli import main


@pytest.fixture
def page(report):
    return Page(report)


def test_the_page_says_what_was_trained_and_how_good_it_is(page, runs):
    found = json.loads((runs[0] / "evaluation.json").read_text())
    assert f"NLL {-found['mean']:.2f} ± {found['confidence']:.2f} nats" in page.text
    for said in ("K = 30 samples", "sbn/sbn 3-8", "digits: 1,197 / 300 / 300 rows", "threshold"):
        assert said in page.text
    headings = ("Learning", "Latent units", "What it looks like", "Receptive fields", "Imputations")
    for heading in headings:
        assert heading in page.text


def test_every_figure_has_alternative_text(page):
    assert len(page.all("img")) == 6
    assert all(image["alt"] for image in page.all("img"))
    # Four learning curves, three histograms, one of the latent units.
    plots = page.all("svg")
    assert len(plots) == 8
    assert len({plot["aria-label"] for plot in plots}) == 8
    assert all(plot["role"] == "img" for plot in plots)


@pytest.mark.parametrize("name", ["report", "comparison"])
def test_nothing_comes_from_elsewhere(name, request):
    path = request.getfixturevalue(name)
    addresses = [
        value
        for _, attributes in Page(path).elements
        for attribute, value in attributes.items()
        if attribute in ("src", "href", "xlink:href", "action", "data", "poster", "srcset")
    ]
    assert addresses
    assert all(address.startswith(("data:", "#")) for address in addresses)
    text = path.read_text(encoding="utf-8")
    assert "http" not in text
    assert "@import" not in text


def test_ids_are_unique_but_for_what_is_the_same_in_each_svg(page):
    ids = [attributes["id"] for tag, attributes in page.elements if tag == "clippath"]
    assert len(ids) == len(set(ids)) > 0


def test_names_are_escaped(comparison, runs):
    page = Page(comparison)
    assert NASTY in page.text
    assert not page.all("b")
    assert f"Samples from {NASTY}" in [image["alt"] for image in page.all("img")]


def test_the_comparison_has_both_runs_and_their_paired_difference(comparison, runs):
    page = Page(comparison)
    found = [json.loads((run / "evaluation.json").read_text()) for run in runs]
    for one in found:
        assert f"{-one['mean']:.2f}" in page.text
    gain = abs(found[0]["mean"] - found[1]["mean"])
    assert f"is {gain:.2f} ±" in page.text
    assert "do not compare" not in page.text
    assert len(page.all("svg")) == 3


def test_runs_on_different_data_are_not_compared(runs, tmp_path):
    words = ["train", "bars", "--epochs", "1", "--model", "sbn/sbn 2", "--quiet"]
    assert main([*words, "--out", str(tmp_path / "bars")]) == 0
    out = tmp_path / "report.html"
    assert main(["report", str(runs[1]), str(tmp_path / "bars"), "--out", str(out)]) == 0
    page = Page(out)
    assert "differ in their data set: their likelihoods do not compare" in page.text
    assert "Differences on the same examples" not in page.text


def test_a_table_of_bits_that_are_no_images_has_a_page_too(tmp_path):
    rows = np.random.default_rng(0).integers(0, 2, (60, 5))
    np.savetxt(tmp_path / "own.csv", rows, fmt="%d", delimiter=",")
    words = ["train", str(tmp_path / "own.csv"), "--model", "sbn/sbn 2", "--epochs", "1"]
    assert main([*words, "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert main(["report", str(tmp_path / "run")]) == 0
    page = Page(tmp_path / "run" / "report.html")
    assert "The rows are no images" in page.text
    assert "Not evaluated yet" in page.text
    assert "Imputations" not in page.text


def test_a_model_without_latents_has_a_page_too(tmp_path, capsys):
    run = str(tmp_path / "run")
    words = ["train", "digits", "--model", "ar_sbn", "--epochs", "1", "--quiet"]
    assert main([*words, "--out", run]) == 0
    assert main(["evaluate", run, "--quiet"]) == 0
    assert main(["report", run]) == 0
    page = Page(tmp_path / "run" / "report.html")
    assert "no sampling: it is exact" in page.text
    assert "Latent units" not in page.text
    assert "Receptive fields" not in page.text
    assert main(["show", run, "--out", str(tmp_path / "fields.png")]) == 2
    assert "without latent units" in capsys.readouterr().err


def test_numbers_of_another_evaluation_are_not_drawn(runs, tmp_path):
    run = shutil.copytree(runs[1], tmp_path / "run")
    shutil.copy(runs[0] / "evaluation.npz", run / "evaluation.npz")
    assert main(["report", str(run)]) == 0
    assert "evaluate again for histograms" in Page(run / "report.html").text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["report"], "one or more runs"),
        (["compare"], "at least two runs"),
        (["compare", "nosuch"], "at least two runs"),
        (["compare", "nosuch", "nosuch"], "not a run folder"),
        (["show", "nosuch", "--out", "fields.gif"], ".png or .svg"),
    ],
)
def test_errors_are_one_sentence(words, said, capsys):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
