import fcntl

import pytest

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
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "comparison.html").exists():
            train(folder / NASTY, "sbn/sbn 3-8")
            train(folder / "plain", "sbn/nade 4-9", seed=1)
            runs = [str(folder / NASTY), str(folder / "plain")]
            assert main(["report", runs[0], "--quiet"]) == 0
            out = str(folder / "comparison.html")
            assert main(["report", *runs, "--out", out, "--quiet"]) == 0
    return folder


@pytest.fixture
def runs(folder):
    return [folder / NASTY, folder / "plain"]


@pytest.fixture
def report(folder):
    return folder / NASTY / "report.html"


@pytest.fixture
def comparison(folder):
    return folder / "comparison.html"
