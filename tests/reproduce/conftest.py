from pathlib import Path

import pytest

from wakesleep.reproduce.store import ExperimentStore

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path):
    return ExperimentStore(tmp_path / "runs", tmp_path / "results")


@pytest.fixture
def committed():
    return ExperimentStore(ROOT / "runs", ROOT / "results")
