"""The tutorial runs, links lead somewhere, and the pages name what there is."""

import importlib.util
import re
import shlex
import tomllib
from pathlib import Path

import pytest

import wakesleep
from wakesleep.cli import main

ROOT = Path(__file__).parents[1]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
TOP = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]


def make_baskets(path):
    """What the example of step 1 does first; tests/test_examples.py runs all of it."""
    file = ROOT / "examples" / "01_your_own_csv.py"
    spec = importlib.util.spec_from_file_location("own_csv", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.make_baskets(path)


def test_the_tutorial_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(sh|python)\n(.*?)```", TUTORIAL, re.DOTALL)
    assert blocks[0] == ("sh", "python examples/01_your_own_csv.py\n")
    make_baskets(tmp_path / "baskets.csv")
    assert len((tmp_path / "baskets.csv").read_text().splitlines()) == 3001
    for language, code in blocks[1:]:
        if language == "python":
            exec(compile(code, "tutorial.md", "exec"), {})
            continue
        for line in code.splitlines():
            program, *words = shlex.split(line)
            assert program == "wakesleep"
            assert main(words) == 0, line
    printed = capsys.readouterr().out
    assert "is the strangest row" in printed
    assert "nats better than" in printed
    assert (tmp_path / "runs" / "baskets" / "report.html").exists()
    names, *rows = (tmp_path / "new.csv").read_text().splitlines()
    assert names == (tmp_path / "baskets.csv").read_text().splitlines()[0]
    assert len(rows) == 1000


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
