"""What the explorer says is what listing all rows says."""

import jax
import numpy as np
import pytest

import wakesleep as ws
from tests.oracle.groups import every_row, grouped_log_likelihood
from tests.report.conftest import LEVEL
from wakesleep.errors import UsageError
from wakesleep.explore import open_subjects
from wakesleep.explore.questions import Question, answer
from wakesleep.storage import save_model

GROUPS = (3, 5, 1)


@pytest.fixture
def subject(table_run):
    (subject,) = open_subjects([table_run])
    return subject


@pytest.fixture
def exact(subject):
    """log p and the states of every row there is."""
    rows = np.array(list(every_row(subject.model.groups)))
    log_p = grouped_log_likelihood(subject.model, rows, subject.model.groups)
    return log_p, subject.schema.codes(rows)


def distribution(exact, given, group, states):
    log_p, codes = exact
    kept = np.all([np.isin(codes[:, g], s) for g, s in given.items()], axis=0)
    weights = np.where(kept, np.exp(log_p), 0.0)
    shares = np.array([weights[codes[:, group] == state].sum() for state in range(states)])
    return shares / weights.sum(), np.log(weights.sum())


@pytest.mark.parametrize("given", [{1: [4]}, {1: [0, 4]}, {0: [0], 2: [1]}], ids=str)
def test_distributions_and_completions_are_the_models(subject, exact, given):
    assert subject.model.groups == GROUPS
    words = {"given": {str(group): states for group, states in given.items()}, "seed": 3}
    found = answer(subject, Question.parse(subject, words))
    for group, states in enumerate((3, 5, 2)):
        expected, log_mass = distribution(exact, given, group, states)
        np.testing.assert_allclose(found["distributions"][group], expected, atol=0.07)
    assert abs(found["log_probability"] - log_mass) < 0.1
    labels = subject.labels()
    for row in found["completions"]:
        for group, states in given.items():
            if group != 1:
                assert row[group] in [labels[group][state] for state in states]
    assert len(found["completions"]) == 12
    if len(given) == 2:
        both = distribution(exact, given, 0, 3)[1]
        alone = distribution(exact, {2: [1]}, 0, 3)[1]
        # A few draws of the missing cell, scored with every state.
        assert abs(found["odd"][0] - (both - alone)) < 0.3


def test_columns_are_told_with_their_levels(subject):
    assert subject.names()[1:] == ["size", "answer"]
    assert LEVEL in subject.labels()[0]
    assert subject.image() is None


@pytest.mark.parametrize(
    "words",
    [
        [],
        {"given": {}},
        {"given": {"9": [0]}, "seed": 0},
        {"given": {"0": [3]}, "seed": 0},
        {"given": {"0": []}, "seed": 0},
        {"given": {"0": ["0"]}, "seed": 0},
        {"given": {"-1": [0]}, "seed": 0},
        {"given": {"0": [True]}, "seed": 0},
        {"given": {}, "seed": -1},
    ],
    ids=str,
)
def test_anything_else_than_a_question_is_refused(subject, words):
    with pytest.raises(UsageError):
        Question.parse(subject, words)


def test_a_row_that_is_whole_has_nothing_left_to_say(subject):
    words = {"given": {"0": [0], "1": [0], "2": [0]}, "seed": 0}
    with pytest.raises(UsageError, match="everything is given"):
        answer(subject, Question.parse(subject, words))


def test_runs_side_by_side_have_the_same_columns(table_run, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for name in ("config.toml", "data.json"):
        (other / name).write_bytes((table_run / name).read_bytes())
    save_model(ws.build("nade", features=9, key=jax.random.key(0)), other / "model.safetensors")
    with pytest.raises(UsageError, match="run and other have different columns"):
        open_subjects([table_run, other])
    with pytest.raises(UsageError, match="one run, or two"):
        open_subjects([])
