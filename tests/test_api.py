import inspect
import subprocess
import sys

import pytest

import wakesleep as ws


@pytest.mark.parametrize("name", ws.__all__)
def test_every_public_name_is_there_and_documented(name):
    thing = getattr(ws, name)
    if callable(thing):
        # A dataclass without words of its own is given its signature for a docstring.
        words = inspect.cleandoc(vars(thing).get("__doc__") or thing.__doc__ or "")
        assert len(words.split()) >= 3
        assert not words.startswith(f"{name}(")
    else:
        assert thing


def test_the_public_names_are_those_of_the_package():
    assert {"build", "fit", "log_likelihood", "sample", "load_dataset"} <= set(ws.__all__)
    assert sorted(set(ws.__all__)) == ws.__all__ == dir(ws)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ws.nothing


@pytest.mark.parametrize("code", ["import wakesleep", "from wakesleep.cli import main"])
def test_importing_the_package_or_the_command_line_does_not_load_jax(code):
    check = f"{code}; import sys; sys.exit('jax' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
