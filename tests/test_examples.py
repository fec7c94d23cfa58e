"""Every numbered example runs as its first lines say, in an empty folder, and keeps its promise.

A check is given what the example printed and the folder it ran in, and asserts what the example
claims: the numbers stand well apart from those of chance and of the simplest rival.
"""

import importlib.util
import itertools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

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


def numbers(pattern, printed):
    """The groups of the one place where a pattern stands in what was printed."""
    (match,) = re.finditer(pattern, printed)
    return [float(group) for group in match.groups()]


def basket_entropy():
    """The entropy of the first example's made-up baskets, by listing occasions and baskets."""
    path = next(path for path in EXAMPLES if path.stem == "01_your_own_csv")
    spec = importlib.util.spec_from_file_location("own_csv", path)
    source = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(source)
    baskets = np.array(list(itertools.product((0, 1), repeat=len(source.ITEMS))))
    probability = np.zeros(len(baskets))
    for chosen in itertools.product((False, True), repeat=len(source.OCCASIONS)):
        chances = np.full(len(source.ITEMS), 0.05)
        for items in itertools.compress(source.OCCASIONS.values(), chosen):
            chances[items] = 0.8
        weight = np.prod([0.4 if each else 0.6 for each in chosen])
        probability += weight * np.where(baskets, chances, 1 - chances).prod(1)
    return -(probability * np.log(probability)).sum()


def knows_how_columns_go_together(printed, folder):
    (independent,) = numbers(r"independent columns +(-\d+\.\d+) nats", printed)
    model, interval = numbers(r"the model +(-\d+\.\d+) ± (\d+\.\d+) nats", printed)
    assert 0 < interval < 0.3
    assert model - interval > independent + 0.3
    assert model - interval < -basket_entropy()
    assert len((folder / "baskets.csv").read_text().splitlines()) == 3001
    rows = re.findall(r"^  \[([01 ]+)\]$", printed, re.MULTILINE)
    assert [len(row.split()) for row in rows] == [9] * 6
    strangest, new = rows[:3], rows[3:]
    assert np.mean([row.count("1") for row in strangest]) > np.mean([r.count("1") for r in new])


def finds_units_alive(printed, folder):
    (alive,) = numbers(r"latent layer 1: (\d+) of 50 units are alive", printed)
    assert 10 < alive <= 50
    assert numbers(r"latent layer 2: (\d+) of 10 units are alive", printed)[0] <= 10
    for name in ("samples.png", "probabilities.png", "fields.png"):
        picture = np.asarray(Image.open(folder / name).convert("L"))
        assert min(picture.shape) >= 6 * 8
        assert np.ptp(picture) > 100
    # Samples are bits, the probabilities they are drawn with are not.
    assert len(np.unique(np.asarray(Image.open(folder / "probabilities.png")))) > 50


def finds_the_digit_never_seen(printed, folder):
    (machine,) = numbers(r"Helmholtz machine, log p\(x\) +area under the ROC curve (\S+),", printed)
    (forest,) = numbers(r"isolation forest +area under the ROC curve (\S+),", printed)
    # 0.5 is chance, with a standard error of 0.04 over some seventy images of the digit left out.
    assert 0.8 < machine <= 1
    assert 0.7 < forest <= 1
    seen, unseen = numbers(r"log-likelihood: (\S+) nats for .*, (\S+) for digit 6", printed)
    assert seen > unseen + 3


def independent_digits():
    """What columns alone make of the last example's held-out digits, in nats."""
    X, digit = load_digits(return_X_y=True)
    parts = train_test_split(X > 7.5, digit, test_size=1 / 3, random_state=0, stratify=digit)
    train, test = parts[:2]
    p = (train.sum(0) + 1) / (len(train) + 2)
    return np.log(np.where(test, p, 1 - p)).sum(1).mean()


def makes_features_and_a_density(printed, folder):
    (machine,) = numbers(r"HelmholtzMachineDensity +accuracy (\S+)", printed)
    (rbm,) = numbers(r"BernoulliRBM +accuracy (\S+)", printed)
    # One in ten is chance.
    assert 0.85 < machine <= 1
    assert 0.85 < rbm <= 1
    (held_out,) = numbers(r"held-out log-likelihood +(-\d+\.\d+) nats", printed)
    assert independent_digits() + 4 < held_out < -15


def loses_nothing_and_finds_the_distribution(printed, folder):
    done, epochs = numbers(r"stopped after (\d+) of (\d+) epochs; the same bits: True", printed)
    assert done < epochs
    model, interval = numbers(r"test log-likelihood (-\d+\.\d+) ± (\d+\.\d+) nats", printed)
    (truth,) = numbers(r"the rows came from (-\d+\.\d+)", printed)
    # Six numbers of means learnt from 2,000 rows cost some thousandths of a nat.
    assert abs(model - truth) < 0.03
    assert 0 < interval < 0.2


def finds_what_was_removed(printed, folder):
    (right,) = numbers(r"from the other columns: (\S+) are right", printed)
    # A half is chance, with a standard error of 0.035 over 200 rows.
    assert 0.85 < right <= 1
    assert len(re.findall(r"(?m)^ *(?:north|south) +(?:yes|no) +\d+ +-?\d+\.\d+$", printed)) == 3


def prefers_the_larger_model(printed, folder):
    assert "fitted on 2 workers" in printed
    (small,) = numbers(r"sbn/sbn 2 +held-out log-likelihood (-\d+\.\d+)", printed)
    (large,) = numbers(r"sbn/sbn 20 +held-out log-likelihood (-\d+\.\d+)", printed)
    assert large > small
    assert "best: sbn/sbn 20" in printed


CHECKS = {
    "01_your_own_csv": knows_how_columns_go_together,
    "02_look_inside": finds_units_alive,
    "03_anomaly_detection": finds_the_digit_never_seen,
    "04_features_for_a_classifier": makes_features_and_a_density,
    "05_a_model_of_your_own": loses_nothing_and_finds_the_distribution,
    "06_a_frame": finds_what_was_removed,
    "07_a_search_on_dask": prefers_the_larger_model,
}


def test_examples_are_numbered_without_gaps_and_each_has_a_check():
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))
    assert [path.stem for path in EXAMPLES] == sorted(CHECKS)


SLOW = ("07_a_search_on_dask",)
RUNS = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in SLOW else [])
    for path in EXAMPLES
]


@pytest.mark.parametrize("path", RUNS)
def test_each_opens_with_its_usage_and_keeps_its_promise(path, tmp_path):
    opening = path.read_text(encoding="utf-8").split('"""')[1]
    assert f"Usage: python examples/{path.name}" in opening
    CHECKS[path.stem](run(path, tmp_path), tmp_path)
