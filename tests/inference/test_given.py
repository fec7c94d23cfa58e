"""Rows drawn under conditions, against the exact conditional distribution of all rows."""

import jax
import numpy as np
import pytest

import wakesleep as ws
from tests.inference.groups import EVERY, GROUPS, group_machine, log_probs, states_of
from tests.oracle import eonade
from wakesleep.errors import UsageError
from wakesleep.inference.given import sample_given

MIXTURE = "nade(hidden=3, order=1) & nade/nade 3"
KINDS = ("sbn/sbn 2-3", "ar_sbn/sbn 3", "nade(hidden=3, order=2)", "sbn", MIXTURE)
COUNT = 4000
# Sets of states, single states, and states of which a share is allowed.
CONDITIONS = (
    {1: [1, 0, 1]},
    {0: [0.5, 1], 1: [1, 0.5, 0], 2: [0.2, 1]},
)


def exact(log_p, allowed):
    """p(row | conditions), and log p(conditions), from log p of all rows."""
    states = states_of(EVERY)
    shares = np.ones(len(EVERY))
    for group, values in allowed.items():
        shares *= np.asarray(values, float)[states[:, group]]
    joint = np.exp(log_p) * shares
    return joint / joint.sum(), np.log(joint.sum())


def frequencies(draws):
    same = (draws[:, None] == EVERY[None]).all(-1)
    assert (same.sum(1) == 1).all()
    return same.mean(0)


@pytest.mark.parametrize("text", KINDS)
def test_rows_follow_the_exact_conditional_distribution(text):
    # Weights that are uneven, so that resampling has something to do.
    machine = group_machine(text, scale=1.2)
    for number, allowed in enumerate(CONDITIONS):
        given = sample_given(machine, allowed, COUNT, key=jax.random.key(number))
        expected, log_probability = exact(log_probs(machine), allowed)
        # Rows of a chunk come from one pool, so that they are a little less than independent.
        error = np.sqrt(expected * (1 - expected) / COUNT * (1 + 1 / given.effective_samples))
        assert np.all(np.abs(frequencies(given.draws) - expected) < 4.5 * error + 1e-6)
        assert given.log_probability == pytest.approx(log_probability, abs=0.05)
        assert not given.unreliable


def in_orders(model, known):
    """log p of all rows, the known groups first in every ordering, by the oracle's equations."""
    orders = model.spec.orders(len(GROUPS))
    first = [sorted(order.tolist(), key=lambda g: g not in known) for order in orders]
    each = [[eonade.log_prob(model, row, order) for row in EVERY] for order in first]
    return np.logaddexp.reduce(each, axis=0) - np.log(len(orders))


@pytest.mark.parametrize("allowed", [*CONDITIONS, {0: [0, 1], 2: [1, 0]}])
def test_an_eonade_reads_what_is_known_first(allowed):
    model = group_machine("eonade(hidden=4, orderings=5)", scale=1.2)
    given = sample_given(model, allowed, COUNT, key=jax.random.key(3))
    expected, log_probability = exact(in_orders(model, allowed), allowed)
    error = np.sqrt(expected * (1 - expected) / COUNT * (1 + 1 / given.effective_samples))
    assert np.all(np.abs(frequencies(given.draws) - expected) < 4.5 * error + 1e-6)
    assert given.log_probability == pytest.approx(log_probability, abs=0.02)
    assert not given.unreliable


@pytest.mark.parametrize("text", ["nade/nade 3", "nade(hidden=3)"])
def test_moves_keep_the_distribution_where_samples_are_few(text):
    machine = group_machine(text, scale=1.2)
    given = sample_given(machine, CONDITIONS[0], COUNT, 1, key=jax.random.key(4), moves=5)
    assert given.effective_samples < 1
    expected, _ = exact(log_probs(machine), CONDITIONS[0])
    error = np.sqrt(expected * (1 - expected) / COUNT / given.effective_samples)
    assert np.all(np.abs(frequencies(given.draws) - expected) < 4.5 * error + 1e-6)


def test_conditions_first_in_the_order_are_exact(key):
    machine = group_machine("nade(hidden=3)", scale=1.2)
    allowed = {0: [1, 0], 1: [1, 1, 0]}
    given = sample_given(machine, allowed, 5, 10, key=key)
    assert given.draws.shape == (5, 6)
    assert given.effective_samples >= 4 - 1e-6
    assert given.log_probability == pytest.approx(exact(log_probs(machine), allowed)[1], abs=1e-5)


@pytest.mark.parametrize(
    ("allowed", "count", "said"),
    [
        ({3: [1, 0]}, 1, "no group 3"),
        ({0: [1, 0, 1]}, 1, "group 0 has 2 states"),
        ({0: [0, 0]}, 1, "not all of them 0"),
        ({0: [2, 0]}, 1, "from 0 to 1"),
        ({}, 0, "count is 0"),
    ],
)
def test_what_cannot_be_is_refused(allowed, count, said, key):
    with pytest.raises(UsageError, match=said):
        sample_given(group_machine("sbn"), allowed, count, key=key)


@pytest.mark.parametrize(
    ("text", "said"), [("rbm 3", "undirected top"), ("dbn 3-2", "undirected top")]
)
def test_models_that_cannot_say_so(text, said, key):
    model = ws.build(text, features=4, key=key)
    with pytest.raises(UsageError, match=said):
        sample_given(model, {0: [1, 0]}, 1, key=key)
