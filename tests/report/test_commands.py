"""sample, show and compare: files, and the preview in a terminal."""

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from matplotlib import image

from tests.report.conftest import NASTY
from wakesleep.cli import main
from wakesleep.report.terminal import has_screen, preview


def test_show_writes_fields_of_both_networks(runs, tmp_path, capsys):
    for network in ("p", "q"):
        out = tmp_path / f"{network}.png"
        words = ["show", str(runs[0]), "--network", network, "--out", str(out)]
        assert main(words) == 0
        assert "8 receptive fields" in capsys.readouterr().out
        assert image.imread(out).shape[:2] == (3 * 28, 3 * 28)
    assert (tmp_path / "p.png").read_bytes() != (tmp_path / "q.png").read_bytes()


@pytest.mark.parametrize("command", ["sample", "show"])
def test_svg_files_are_whole_documents_with_their_pixels_inside(command, runs, tmp_path):
    out = tmp_path / "picture.svg"
    assert main([command, str(runs[0]), "--out", str(out)]) == 0
    root = ElementTree.parse(out).getroot()
    (picture,) = root
    assert picture.get("href").startswith("data:image/png;base64,")
    assert root.get("width") == picture.get("width")


@pytest.mark.parametrize("command", ["sample", "show"])
def test_a_preview_is_shown_when_asked_for(command, runs, tmp_path, capsys):
    words = [command, str(runs[0]), "--out", str(tmp_path / "picture.png"), "--overwrite"]
    words += ["--preview"]
    assert main([*words, "no"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert main([*words, "yes"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_bits_are_drawn_four_to_a_character():
    ring = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], np.uint8)
    assert preview(np.stack([ring, 1 - ring]), 80).splitlines() == ["▛▌ ▗ ", "▀▘   "]


def test_grey_values_are_drawn_as_shades_of_two_pixels():
    grey = np.array([[0.0, 0.25, 0.5, 0.75, 1.0]] * 2)
    assert preview(grey[None], 80) == " ░▒▓█"


def test_no_more_pictures_than_fit_the_line():
    pictures = np.ones((9, 4, 4), np.uint8)
    assert preview(pictures, 8).splitlines() == ["██ ██ ██"] * 2
    assert preview(pictures, 1).splitlines() == ["██"] * 2


def test_a_screen_is_known_by_its_variables(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    assert has_screen({"DISPLAY": ":0"})
    assert has_screen({"WAYLAND_DISPLAY": "wayland-0"})
    assert not has_screen({"DISPLAY": ""})


def test_compare_prints_the_paired_difference_and_draws_the_curves(runs, tmp_path, capsys):
    words = ["compare", *map(str, runs)]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [run["run"] for run in found["runs"]] == [NASTY, "plain"]
    (pair,) = found["differences"]
    nll = {run["run"]: run["nll"] for run in found["runs"]}
    assert pair["gain"] == pytest.approx(nll[pair["worse"]] - nll[pair["better"]])
    assert pair["gain"] >= 0
    # The paired interval is what makes a comparison worth while: it beats either run's own.
    assert 0 < pair["confidence"] < min(run["confidence"] for run in found["runs"])
    assert main([*words, "--out", str(tmp_path / "curves.svg")]) == 0
    assert "better than" in capsys.readouterr().out
    ElementTree.parse(tmp_path / "curves.svg")
    assert main([*words, "--out", str(tmp_path / "curves.png")]) == 0
    assert image.imread(tmp_path / "curves.png").ndim == 3
