import subprocess
import sys

import pytest

import wakesleep as ws


@pytest.mark.parametrize("name", ws.__all__)
def test_every_public_name_is_there_and_documented(name):
    assert getattr(ws, name) is not None
    if callable(getattr(ws, name)):
        assert getattr(ws, name).__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ws.nothing


@pytest.mark.parametrize("code", ["import wakesleep", "from wakesleep.cli import main"])
def test_importing_the_package_or_the_command_line_does_not_load_jax(code):
    check = f"{code}; import sys; sys.exit('jax' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
