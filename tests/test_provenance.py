"""The commit that results name is that of the code that made them."""

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from wakesleep import provenance


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def code(tmp_path: Path) -> ModuleType:
    """The module in a repository of its own, whose code and results are committed."""
    (tmp_path / "src").mkdir()
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "row.json").write_text("{}")
    path = Path(shutil.copy(provenance.__file__, tmp_path / "src" / "copied.py"))
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "all")
    spec = importlib.util.spec_from_file_location("copied", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_code_as_committed_is_named_by_its_commit(code: ModuleType, tmp_path: Path) -> None:
    assert code.commit() == git(tmp_path, "rev-parse", "HEAD")[:12]


def test_results_written_meanwhile_are_no_change(code: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "results" / "row.json").write_text('{"nll": 1}')
    assert code.commit() == git(tmp_path, "rev-parse", "HEAD")[:12]


def test_changed_code_is_marked(code: ModuleType, tmp_path: Path) -> None:
    with (tmp_path / "src" / "copied.py").open("a") as file:
        file.write("# changed\n")
    assert code.commit() == git(tmp_path, "rev-parse", "HEAD")[:12] + "-dirty"


def test_outside_a_repository_it_is_the_version(code: ModuleType, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / ".git")
    assert code.commit().startswith("wakesleep ")
