"""The mixture beside independent columns: proper, better where classes are, and quick to read."""

import itertools

import numpy as np
import pytest

from wakesleep.errors import DataError
from wakesleep.schema import IndependentColumns, LatentClasses

STATES = (2, 3, 4)


def rows_of_two_classes(count, seed):
    rng = np.random.default_rng(seed)
    classes = rng.random(count) < 0.4
    codes = np.stack([np.where(classes, n - 1, rng.integers(0, n, count)) for n in STATES], axis=1)
    codes[rng.random(codes.shape) < 0.1] = -1
    return codes


def test_probabilities_sum_to_one_with_and_without_missing_cells():
    made = LatentClasses.fit(rows_of_two_classes(500, 0), STATES)
    every = np.array(list(itertools.product(*map(range, STATES))))
    assert np.exp(made.log_prob(every)).sum() == pytest.approx(1)
    some = every[every[:, 1] == 2].copy()
    observed = some.copy()
    observed[:, 0] = -1
    # A missing cell is summed over.
    joint = np.exp(made.log_prob(every))
    for row, value in zip(observed, np.exp(made.log_prob(observed)), strict=True):
        fits = (every[:, 1:] == row[1:]).all(1)
        assert joint[fits].sum() == pytest.approx(value)
    assert np.allclose(made.log_prob(np.full((1, 3), -1)), 0)


def test_classes_that_are_there_are_found_and_no_more_are_taken_than_help():
    train, valid, test = (rows_of_two_classes(n, seed) for seed, n in enumerate((2000, 500, 500)))
    made = LatentClasses.fit(train, STATES, valid)
    alone = IndependentColumns.fit(train, STATES)
    assert made.log_prob(test).mean() > alone.log_prob(test).mean() + 0.1
    assert made.classes <= 8
    rng = np.random.default_rng(9)
    noise = np.stack([rng.integers(0, n, 400) for n in STATES], axis=1)
    # One class is independent columns.
    assert LatentClasses.fit(noise[:200], STATES, noise[200:]).classes == 1


def test_a_class_of_few_rows_is_like_the_whole_table():
    codes = np.array([[0, 0, 0]] * 30 + [[1, 2, 3]])
    made = LatentClasses.fit(codes, STATES, codes)
    # However sure the classes are, what was never seen in them keeps some probability.
    assert made.log_prob(np.array([[1, 0, 3]]))[0] > -15


def test_it_is_stored_and_read_and_what_is_none_is_refused():
    made = LatentClasses.fit(rows_of_two_classes(3, 1), STATES)
    again = LatentClasses.from_dict(made.to_dict(), "here")
    rows = rows_of_two_classes(20, 2)
    assert np.array_equal(again.log_prob(rows), made.log_prob(rows))
    with pytest.raises(DataError, match="here has no latent classes"):
        LatentClasses.from_dict({"shares": [0.0]}, "here")
