"""Model files that are not as we wrote them."""

import json

import pytest
from safetensors.numpy import load_file, save_file

from wakesleep.errors import DataError
from wakesleep.header_checks import signed
from wakesleep.storage import load_model


def refusal(path):
    """The one sentence with which a file is refused."""
    with pytest.raises(DataError) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)
    return str(caught.value)


def rewrite(path, header):
    """The same arrays under another header, which a stranger signs as we do."""
    save_file(load_file(path), path, metadata={"wakesleep": json.dumps(signed(header))})
