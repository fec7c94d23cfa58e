"""log p of observed cells: the sum over all that the missing ones could be."""

import itertools

import jax
import numpy as np
import pytest

import wakesleep as ws
from wakesleep.data import MaskedBits
from wakesleep.errors import UsageError
from wakesleep.evaluation import bias_variance
from wakesleep.inference.posterior import infer_rows

GROUPS = (1, 3, 2)
STATES = ([[0], [1]], np.eye(3), np.eye(2))
EVERY = np.array([np.concatenate(row) for row in itertools.product(*STATES)])


def machine(architecture="sbn/sbn 2-3", *, masked=True, scale=3):
    model = ws.build(architecture, features=6, key=jax.random.key(0), groups=GROUPS, masked=masked)
    return jax.tree.map(lambda leaf: scale * leaf, model)


def with_gaps():
    """Every row with every set of its cells missing."""
    masks = np.array(list(itertools.product([0, 1], repeat=3)))
    observed = np.tile(masks, (len(EVERY), 1))
    bits = np.repeat(EVERY, len(masks), axis=0) * np.repeat(observed, GROUPS, axis=1)
    return MaskedBits.pack(bits, observed, GROUPS)


def sums(model):
    """log p of the observed cells, by adding up all rows that agree with them."""
    table = with_gaps()
    exact = ws.log_likelihood(model, EVERY, method="exact").values
    seen = np.repeat(table.observed[:], GROUPS, axis=1)
    agree = (table[:][:, None] == EVERY * seen[:, None]).all(-1)
    return np.log((agree * np.exp(exact)).sum(1))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("architecture", ["sbn/sbn 2-3", "sbn/sbn 3"])
def test_exact(architecture, masked):
    model = machine(architecture, masked=masked)
    assert ws.log_likelihood(model, EVERY, method="exact").mean < 0
    values = ws.log_likelihood(model, with_gaps(), method="exact").values
    assert np.allclose(values, sums(model), atol=1e-4)


@pytest.mark.parametrize("architecture", ["sbn/sbn 2-3", "nade/sbn 3"])
def test_importance_sampling_with_and_without_a_tolerance(architecture):
    # Weights so even that their standard errors can be believed.
    model = machine(architecture, scale=0.7)
    expected = sums(model)
    for tolerance in (None, 0.05):
        score = ws.log_likelihood(
            model, with_gaps(), 3000, key=jax.random.key(1), tolerance=tolerance
        )
        wide = 5 * score.standard_errors + np.abs(score.biases) + 1e-3
        assert (np.abs(score.values - expected) < wide).all()
        assert not score.runs.any()


def test_rows_by_themselves():
    model, table = machine(), with_gaps()
    inferred = infer_rows(model, table, 2000, jax.random.key(2))
    assert np.allclose(inferred.log_likelihood, sums(model), atol=0.2)
    rows = [17, 3]
    again = infer_rows(model, table.take(rows), 2000, jax.random.key(2))
    assert np.array_equal(again.log_likelihood, inferred.log_likelihood[rows])


def test_what_cannot_be_is_refused():
    with pytest.raises(UsageError, match="autoregressive"):
        ws.log_likelihood(machine("nade/sbn 3"), with_gaps(), method="exact")
    with pytest.raises(UsageError, match="without missing cells"):
        bias_variance(machine(), with_gaps(), key=jax.random.key(0))
    other = MaskedBits.pack(EVERY, np.ones((len(EVERY), 2)), (4, 2))
    with pytest.raises(ws.DataError, match="groups of 4, 2 bits"):
        ws.log_likelihood(machine(), other, method="exact")
