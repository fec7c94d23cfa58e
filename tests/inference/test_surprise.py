"""log p of a cell given its row's others, against sums over all rows that could be."""

import jax
import numpy as np
import pytest

import wakesleep as ws
from tests.inference.groups import EVERY, GROUPS, group_machine, log_probs, states_of
from tests.machines import small_machine
from tests.oracle import all_bits, undirected
from wakesleep.data import MaskedBits
from wakesleep.errors import UsageError
from wakesleep.inference.surprise import cell_log_probs

MIXTURE = "nade(hidden=3, order=1) & nade/nade 3"
KINDS = ("sbn/sbn 2-3", "ar_sbn/sbn 3", "darn/sbn 2", "nade(hidden=3, order=2)", "sbn", MIXTURE)


def exact(machine, states, observed):
    """log p(x_g | x_−g) among the observed cells, `[N, G]`; nan for missing ones."""
    log_p, every = log_probs(machine), states_of(EVERY)
    values = np.full(states.shape, np.nan)
    for row, (state, seen) in enumerate(zip(states, observed, strict=True)):
        whole = ((every == state) | ~seen).all(1)
        for group in np.flatnonzero(seen):
            others = seen & (np.arange(len(seen)) != group)
            rest = ((every == state) | ~others).all(1)
            values[row, group] = np.logaddexp.reduce(log_p[whole]) - np.logaddexp.reduce(
                log_p[rest]
            )
    return values


@pytest.mark.parametrize("text", KINDS)
def test_every_cell_of_every_row_with_and_without_gaps(text):
    machine = group_machine(text, scale=0.4)
    masks = np.array([[True, True, True], [False, True, True], [True, False, True]])
    observed = np.tile(masks, (len(EVERY), 1))
    bits = np.repeat(EVERY, len(masks), axis=0) * np.repeat(observed, GROUPS, axis=1)
    table = MaskedBits.pack(bits, observed, GROUPS)
    each = [cell_log_probs(machine, table, 1000, key=jax.random.key(seed)) for seed in range(20)]
    states = np.repeat(states_of(EVERY), len(masks), axis=0)
    expected = exact(machine, states, observed)
    assert np.array_equal(np.isnan(each[0]), np.isnan(expected))
    # 1 / p of a cell is a mean over draws, but for the weights' own sum: off by a few / 1000.
    ratios = np.exp(expected[None] - np.array(each))[:, observed]
    error = ratios.std(0, ddof=1) / np.sqrt(len(ratios))
    assert np.all(np.abs(ratios.mean(0) - 1) < 4.5 * error + 0.02)
    assert np.abs(ratios.mean(0) - 1).mean() < 0.05


@pytest.mark.parametrize("text", ["nade(hidden=3, order=2) & ar_sbn", "sbn"])
def test_it_is_exact_without_latents(text, key):
    machine = group_machine(text)
    values = cell_log_probs(machine, EVERY.astype(np.uint8), key=key)
    expected = exact(machine, states_of(EVERY), np.ones((len(EVERY), len(GROUPS)), bool))
    np.testing.assert_allclose(values, expected, atol=1e-4)


def test_cells_of_an_rbm_are_exact(key):
    machine = small_machine("rbm 3")
    every = np.asarray(all_bits(4), np.float64)
    log_p = undirected.log_likelihood(machine, every)
    values = cell_log_probs(machine, every.astype(np.uint8), key=key)
    for cell in range(4):
        turned = (every + np.eye(4)[cell]) % 2
        other = [np.flatnonzero((every == row).all(1))[0] for row in turned]
        expected = log_p - np.logaddexp(log_p, log_p[other])
        np.testing.assert_allclose(values[:, cell], expected, atol=1e-4)


def test_a_row_s_numbers_are_its_own(key):
    machine = group_machine("nade/nade 3")
    rows = EVERY[[3, 7, 5]].astype(np.uint8)
    values = cell_log_probs(machine, rows, 50, key=key)
    assert np.array_equal(cell_log_probs(machine, rows[[2]], 50, key=key), values[[2]])


def test_what_cannot_be_is_refused(key):
    with pytest.raises(UsageError, match="samples is 0"):
        cell_log_probs(group_machine("sbn"), EVERY, 0, key=key)
    with pytest.raises(ws.DataError, match="made for 6"):
        cell_log_probs(group_machine("sbn"), EVERY[:, :4], key=key)
