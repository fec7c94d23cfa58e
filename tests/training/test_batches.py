"""Minibatches: into how many shares they are cut."""

import pytest

from wakesleep.errors import UsageError
from wakesleep.recipe import Recipe
from wakesleep.training.batches import with_shares


@pytest.mark.parametrize(
    ("recipe", "rows", "shares"),
    [
        (Recipe(), 10_000, 2),
        (Recipe(), 9_999, 1),
        (Recipe(batch_size=25), 50_000, 1),
        (Recipe(phases=({}, {"batch_size": 25})), 50_000, 1),
        (Recipe(batch_size=20_001), 10_000, 2),
        (Recipe(shares=4), 100, 4),
        (Recipe(shares=1), 50_000, 1),
    ],
)
def test_two_shares_where_two_processes_may_be_wanted(recipe, rows, shares):
    assert with_shares(recipe, rows).shares == shares


def test_minibatches_that_cannot_be_cut_are_refused():
    with pytest.raises(UsageError, match="into 3 equal shares: --batch-size 99 can"):
        with_shares(Recipe(shares=3), 50_000)
    with pytest.raises(UsageError, match="into 6 equal shares for 3 processes"):
        with_shares(Recipe(), 50_000, processes=3)
