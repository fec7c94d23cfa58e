"""A library that is not installed is missed in one sentence, and only where it is needed."""

import importlib.util

import numpy as np
import pytest

from wakesleep.cli.train_notes import tell_what_is_not_written
from wakesleep.errors import UsageError
from wakesleep.extras import need
from wakesleep.pictures import canvas_png
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.tensorboard_log import TensorBoardLogger
from wakesleep.training.events import Started


@pytest.fixture
def bare(monkeypatch):
    """As if the extras were not installed."""
    real = importlib.util.find_spec
    gone = {"matplotlib", "jinja2", "tensorboardX"}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in gone else real(name)
    )


def test_what_is_missing_and_how_to_have_it(bare):
    with pytest.raises(UsageError) as error:
        need("report", "numpy", "matplotlib", "jinja2")
    assert str(error.value) == (
        "this needs matplotlib and jinja2, which are not installed: pip install 'wakesleep[report]'"
    )
    with pytest.raises(UsageError, match="this needs matplotlib, which is not installed"):
        canvas_png(np.zeros((2, 2)))


def test_what_is_there_is_not_missed():
    need("report", "matplotlib", "jinja2")
    assert TensorBoardLogger.installed()


def test_training_goes_on_without_tensorboard_and_says_so(bare, tmp_path, capsys):
    TensorBoardLogger(RunFolder(tmp_path))(Started(1, 0))
    assert not (tmp_path / "tensorboard").exists()
    tell_what_is_not_written(quiet=False)
    assert "pip install 'wakesleep[tensorboard]'" in capsys.readouterr().err
