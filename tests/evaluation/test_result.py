"""What a result says about a set, and its way to disk and back."""

import csv
import json

import numpy as np
import pytest

from wakesleep.errors import DataError, UsageError
from wakesleep.evaluation import LogLikelihood
from wakesleep.evaluation.records import RECORD


def result(n=4):
    records = np.zeros(n, RECORD)
    records["value"] = -90 + np.arange(n)
    records["standard_error"] = 0.3
    records["bias"] = -0.045
    records["bound"] = -99
    records["effective_samples"] = [11, 20, 30, 40][:n]
    records["pareto_k"] = [0.1, 0.8, np.nan, 0.71][:n]
    records["samples"] = 100
    return LogLikelihood(records, "importance")


def test_the_intervals_are_what_their_names_say():
    score = result()
    assert score.mean == -88.5
    assert score.bias == pytest.approx(-0.045)
    noise = 1.959964 * 0.3 / 2
    assert score.monte_carlo_error == pytest.approx(noise + 0.045, rel=1e-6)
    # Student's quantile for 3 degrees of freedom; the values' variance is 5/3.
    spread = 3.182446 * np.sqrt((5 / 3 - 0.09) / 4)
    assert score.test_set_error == pytest.approx(spread, rel=1e-6)
    assert score.confidence == pytest.approx(np.hypot(noise, spread) + 0.045, rel=1e-6)


def test_values_that_differ_by_noise_alone_show_no_spread():
    records = result().records.copy()
    records["standard_error"] = 10
    assert LogLikelihood(records, "importance").test_set_error == 0


def test_one_example_says_nothing_of_the_others():
    assert np.isnan(result(1).test_set_error)
    assert result(1).to_dict()["confidence"] is None


def test_examples_with_a_heavy_tail_are_flagged():
    assert result().unreliable.tolist() == [False, True, False, True]
    assert result().to_dict()["unreliable_examples"] == 2
    assert result().to_dict()["largest_pareto_k"] == 0.8


def test_the_summary_is_plain_json():
    summary = json.loads(json.dumps(result().to_dict(), allow_nan=False))
    assert summary["mean"] == -88.5
    assert summary["examples"] == 4
    assert summary["median_effective_samples"] == 25


def test_runs_are_not_counted_as_samples():
    """The effective number of an example with SMC runs is one of runs."""
    records = result().records.copy()
    records["runs"][2:] = 4
    expected = np.median(records["effective_samples"][:2])
    assert LogLikelihood(records, "importance").to_dict()["median_effective_samples"] == expected
    records["runs"] = 4
    assert LogLikelihood(records, "importance").to_dict()["median_effective_samples"] is None


def test_npz_comes_back_whole(tmp_path):
    path = tmp_path / "scores.npz"
    result().save(path)
    loaded = LogLikelihood.load(path)
    assert loaded.method == "importance"
    assert loaded.records.tobytes() == result().records.tobytes()


def test_csv_has_a_line_per_example(tmp_path):
    path = tmp_path / "scores.csv"
    result().save(path)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [row["example"] for row in rows] == ["1", "2", "3", "4"]
    assert [float(row["value"]) for row in rows] == [-90, -89, -88, -87]
    assert set(rows[0]) == {"example", *RECORD.names}


def test_other_endings_and_other_files_are_refused(tmp_path):
    with pytest.raises(UsageError, match=r"must end in \.npz or \.csv"):
        result().save(tmp_path / "scores.txt")
    for name, content in (("empty.npz", b""), ("text.npz", b"no archive"), ("absent.npz", None)):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match="is no saved evaluation"):
            LogLikelihood.load(tmp_path / name)
