"""Every estimator on rows with missing groups: it trains, or says in a sentence that it cannot."""

import numpy as np
import pytest

import wakesleep as ws
from wakesleep.data import Dataset, MaskedBits, PackedBits
from wakesleep.estimators import ESTIMATORS

GROUPS = (3, 1, 2, 1)
WHOLE_ROWS_ONLY = {"disarm", "jsa", "refined"}


@pytest.fixture(scope="module")
def data():
    """Rows of one-hot groups, a fifth of the groups missing."""
    random = np.random.default_rng(0)
    parts = [
        random.integers(0, 2, (60, 1)) if size == 1 else np.eye(size)[random.integers(0, size, 60)]
        for size in GROUPS
    ]
    observed = random.random((60, len(GROUPS))) > 0.2
    bits = np.concatenate(parts, axis=1) * np.repeat(observed, GROUPS, axis=1)
    rows = MaskedBits(PackedBits.pack(bits), PackedBits.pack(observed), GROUPS)
    return Dataset("rows", rows.take(range(40)), rows.take(range(40, 60)), rows.take([]), "groups")


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "remembering"])
def test_missing_groups_are_trained_on_or_refused(name, data):
    recipe = ws.Recipe(epochs=2, batch_size=20, estimator={"name": name})
    if name in WHOLE_ROWS_ONLY:
        with pytest.raises(ws.UsageError, match=f"estimator '{name}' scores whole rows"):
            ws.fit("nade/sbn 3", data, recipe)
        return
    model = "eonade(hidden=5)" if name == "order_agnostic" else "nade/sbn 3"
    result = ws.fit(model, data, recipe)
    assert name == "order_agnostic" or result.model.sees_mask
    assert result.model.groups == GROUPS
    assert np.isfinite(result.history[-1].valid_ll)
