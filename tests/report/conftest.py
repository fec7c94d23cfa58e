import numpy as np
import pytest
from filelock import FileLock

from wakesleep.cli import main

NASTY = "a <b>&amp;\"'$x$ _run"
"""A folder name that is markup, a formula and quotes at once."""


def train(path, model, *, seed=0):
    words = ["train", "digits", "--epochs", "2", "--model", model, "--seed", str(seed), "--quiet"]
    assert main([*words, "--out", str(path)]) == 0
    assert main(["evaluate", str(path), "--samples", "30", "--quiet"]) == 0


@pytest.fixture(scope="session")
def folder(tmp_path_factory, worker_id):
    """Two runs on the same data and their pages, made once for all worker processes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "pages"
    folder.mkdir(exist_ok=True)
    with FileLock(folder / ".lock"):
        if not (folder / "comparison.html").exists():
            train(folder / NASTY, "sbn/sbn 3-8")
            train(folder / "plain", "sbn/nade 4-9", seed=1)
            runs = [str(folder / NASTY), str(folder / "plain")]
            assert main(["report", runs[0], "--quiet"]) == 0
            out = str(folder / "comparison.html")
            assert main(["report", *runs, "--out", out, "--quiet"]) == 0
    return folder


COLUMN, LEVEL = "<b>col'our</b>", "<script>alert(1)</script>"
ODD_ROW = 123
"""The only row that is large and not red."""


def write_table(path):
    """A colour tells the size but in one row; some cells are missing."""
    rng = np.random.default_rng(0)
    colours = rng.choice(["red", "green", LEVEL], 300)
    sizes = np.where(colours == "red", 60, 20) + rng.integers(0, 10, 300)
    colours[ODD_ROW - 1], sizes[ODD_ROW - 1] = "green", 64
    noise = rng.choice(["yes", "no"], 300)
    gaps = rng.random(300) < 0.1
    gaps[ODD_ROW - 1] = False
    rows = [
        f'row-{i},"{colour}",{"" if gap else size},{answer}'
        for i, (colour, size, answer, gap) in enumerate(
            zip(colours, sizes, noise, gaps, strict=True), start=1
        )
    ]
    path.write_text("\n".join([f'id,"{COLUMN}",size,answer', *rows]) + "\n", encoding="utf-8")


@pytest.fixture(scope="session")
def table_run(tmp_path_factory, worker_id):
    """A run on a table with names that are markup, and its page, made once."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "table"
    folder.mkdir(exist_ok=True)
    with FileLock(folder / ".lock"):
        if not (folder / "run" / "report.html").exists():
            write_table(folder / "things.csv")
            words = ["train", str(folder / "things.csv"), "--model", "nade(hidden=8)"]
            words += [
                "--epochs",
                "60",
                "--learning-rate",
                "0.05",
                "--bins",
                "5",
                "--out",
                str(folder / "run"),
                "--quiet",
            ]
            assert main(words) == 0
            assert main(["report", str(folder / "run"), "--quiet"]) == 0
    return folder / "run"


@pytest.fixture
def runs(folder):
    return [folder / NASTY, folder / "plain"]


@pytest.fixture
def report(folder):
    return folder / NASTY / "report.html"


@pytest.fixture
def comparison(folder):
    return folder / "comparison.html"
