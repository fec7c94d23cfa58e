"""Every numbered example runs as its first lines say, in an empty folder."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def run(path, folder):
    finished = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_examples_are_numbered_without_gaps():
    numbers = [int(path.name[:2]) for path in EXAMPLES]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 2


def beats_independent_columns(printed):
    independent = float(re.search(r"independent columns +(-\d+\.\d+)", printed)[1])
    model, interval = map(float, re.search(r"the model +(-\S+) ± (\S+)", printed).groups())
    return model - interval > independent


def finds_units_alive(printed):
    return int(re.search(r"layer 1: (\d+) of 50", printed)[1]) > 10


CHECKS = {
    "01_your_own_csv": beats_independent_columns,
    "02_look_inside": finds_units_alive,
    "03_anomaly_detection": lambda printed: "area under the ROC curve 0." in printed,
    "04_features_for_a_classifier": lambda printed: "held-out log-likelihood  -" in printed,
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_opens_with_its_usage_and_runs(path, tmp_path):
    opening = path.read_text(encoding="utf-8").split('"""')[1]
    assert f"Usage: python examples/{path.name}" in opening
    printed = run(path, tmp_path)
    assert CHECKS.get(path.stem, bool)(printed)
