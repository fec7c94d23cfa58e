"""The tutorials run, links lead somewhere, and the pages name what there is."""

import importlib.util
import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

import wakesleep
from wakesleep.cli import main

ROOT = Path(__file__).parents[1]
TOP = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NOTEBOOKS = script("make_notebooks")


@pytest.mark.parametrize("page", NOTEBOOKS.PAGES, ids=lambda page: page.stem)
def test_the_notebooks_are_those_of_the_pages(page):
    kept = NOTEBOOKS.notebook_path(page).read_text(encoding="utf-8")
    assert kept == NOTEBOOKS.notebook(page), "python docs/make_notebooks.py writes them again"


def run_notebook(name):
    """Run its cells in order: Python in one namespace, and `!wakesleep ...` as commands."""
    path = ROOT / "examples" / f"tutorial-{name}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names = {}
    for code in codes:
        if not code.startswith("!"):
            exec(compile(code, path.name, "exec"), names)
            continue
        for line in code.splitlines():
            program, *words = shlex.split(line)
            assert program == "!wakesleep"
            assert main(words) == 0, line
    return names


def test_the_tutorial_on_a_table_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_notebook("table")
    printed = capsys.readouterr().out
    assert "is the oddest, for its" in printed
    assert "nats better than" in printed
    assert (tmp_path / "runs" / "penguins" / "report.html").exists()
    _, *rows = (tmp_path / "gentoo.csv").read_text().splitlines()
    assert len(rows) == 20
    assert all(row.split(",")[0] == "Gentoo" for row in rows)
    before, after = ((tmp_path / f"{n}.csv").read_text() for n in ("penguins", "imputed"))
    assert ",," in before
    assert ",," not in after


@pytest.mark.slow
def test_the_tutorial_on_images_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = run_notebook("images")
    assert -24 < names["score"].mean < -17
    observed = names["given"][0, :32]
    assert (names["completed"].draws[0][:, :32] == observed).all()


@pytest.mark.slow
def test_the_tutorial_on_the_paper_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_notebook("paper")
    assert "SBN/SBN 200" in capsys.readouterr().out
    (found,) = (tmp_path / "runs" / "quick").rglob("sbn-sbn-200.json")
    assert 15 < json.loads(found.read_text())["nll"] < 30


def links(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#]+)", text)
    return [(name, target) for target in targets if not target.startswith("https:")]


LINKS = [link for name in TOP for link in links(name)]


@pytest.mark.parametrize(("name", "target"), LINKS)
def test_links_outside_the_site_lead_somewhere(name, target):
    assert ((ROOT / name).parent / target).exists()


def test_there_are_links_at_all():
    assert len({target for name, target in LINKS if name == "README.md"}) >= 5


def test_every_command_is_on_its_page(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    (names,) = re.findall(r"\{([\w,]+)\}", capsys.readouterr().out)
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    for name in names.split(","):
        assert f"| `{name}` |" in page
        assert f"    wakesleep {name}" in page


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert project["version"] == wakesleep.__version__
    assert f"\nversion: {wakesleep.__version__}\n" in cited
    assert f"## {wakesleep.__version__}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
