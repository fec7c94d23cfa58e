"""Compiled code that outlives a process, in a folder of the user's choice or none."""

import os
import subprocess
import sys
from pathlib import Path

from wakesleep.compilation_cache import SWITCH, cache_folder, cache_status, keep_compiled


def python(tmp_path, *words, **environment):
    """Python in a process of its own, in which JAX is not imported yet."""
    unset = ("JAX_COMPILATION_CACHE_DIR", "XLA_FLAGS")
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    return subprocess.run(
        [sys.executable, *words],
        env={**inherited, **environment},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def command(tmp_path, *words, **environment):
    return python(tmp_path, "-m", "wakesleep", *words, **environment)


def test_it_is_where_the_user_says_and_the_second_run_adds_nothing(tmp_path):
    cache = tmp_path / "cache"
    words = ["train", "bars", "--model", "sbn/sbn 2", "--epochs", "1", "--quiet", "--overwrite"]

    def entries():
        return {path.name for path in cache.glob("compiled-*/*-cache")}

    command(tmp_path, *words, "--out", "run", **{SWITCH: str(cache)})
    first = entries()
    assert first
    command(tmp_path, *words, "--out", "run", **{SWITCH: str(cache)})
    assert entries() == first
    assert str(cache) in command(tmp_path, "info", **{SWITCH: str(cache)})


def test_estimators_keep_what_they_compile(tmp_path):
    code = "import wakesleep.sklearn, jax; jax.jit(lambda x: x + 1)(1.0)"
    python(tmp_path, "-c", code, **{SWITCH: str(tmp_path / "cache")})
    assert list((tmp_path / "cache").glob("compiled-*/*-cache"))
    python(tmp_path, "-c", code, **{SWITCH: "off", "XDG_CACHE_HOME": str(tmp_path / "other")})
    assert not (tmp_path / "other").exists()


def test_it_can_be_turned_off():
    environment = {SWITCH: "off"}
    keep_compiled(environment)
    assert environment == {SWITCH: "off"}
    assert cache_folder(environment) is None
    assert cache_status(environment).startswith("off")


def test_a_cache_of_the_users_own_stays(tmp_path):
    environment = {"JAX_COMPILATION_CACHE_DIR": "mine", SWITCH: str(tmp_path)}
    keep_compiled(environment)
    assert environment == {"JAX_COMPILATION_CACHE_DIR": "mine", SWITCH: str(tmp_path)}
    assert not list(tmp_path.iterdir())


def test_a_home_that_cannot_be_written_to_does_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    environment = {"XDG_CACHE_HOME": str(tmp_path / "file")}
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "file")
    keep_compiled(environment)
    assert "JAX_COMPILATION_CACHE_DIR" not in environment


def test_a_program_that_used_jax_first_keeps_what_it_compiles_from_then_on(tmp_path):
    code = (
        "import jax; jax.jit(lambda x: x + 1)(1.0); import wakesleep.sklearn;"
        "jax.jit(lambda x: x + 2)(1.0)"
    )
    python(tmp_path, "-c", code, **{SWITCH: str(tmp_path / "cache")})
    assert list((tmp_path / "cache").glob("compiled-*/*-cache"))


def test_a_cache_that_a_program_gave_jax_stays(tmp_path):
    code = (
        "import jax; jax.config.update('jax_compilation_cache_dir', 'mine');"
        "import wakesleep.sklearn; print(jax.config.jax_compilation_cache_dir)"
    )
    said = python(tmp_path, "-c", code, **{SWITCH: str(tmp_path / "cache")})
    assert said.strip() == "mine"
    assert not (tmp_path / "cache").exists()
