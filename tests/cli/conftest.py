"""A run on a survey, and a file of further rows."""

import pytest

from tests.cli.surveys import MODEL, survey
from wakesleep.cli import main


@pytest.fixture(scope="package")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("survey")
    survey().to_csv(folder / "survey.csv", sep=";", index=False)
    words = ["train", str(folder / "survey.csv"), "--out", str(folder / "run"), "--epochs", "300"]
    assert main([*words, *MODEL]) == 0
    return folder / "run"


@pytest.fixture
def new_file(tmp_path):
    survey(30, seed=1).to_csv(tmp_path / "new.csv", index=False)
    return tmp_path / "new.csv"
