"""The examples run and find what they say they find."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("03_anomaly_detection.py", "area under the ROC curve 0."),
        ("04_features_for_a_classifier.py", "held-out log-likelihood  -"),
    ],
)
def test_the_example_runs(name, said, capsys):
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert said in capsys.readouterr().out
