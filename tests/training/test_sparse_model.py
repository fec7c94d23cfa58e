"""Sparse regressions: what they solve, what model they are, and when they are tried."""

import itertools
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.oracle import every_row
from wakesleep.data import Dataset, MaskedBits, PackedBits
from wakesleep.data.table_rows import TableRows
from wakesleep.inference.posterior import infer_rows
from wakesleep.layers import ARSBN
from wakesleep.training import sparse_model
from wakesleep.training.automatic_fit import fit_automatic
from wakesleep.training.sparse_model import ORDERS, fit_sparse, sparse_seconds

SIZES = (3, 1, 2, 1, 1)


def copies(count, seed):
    """Groups of which each copies, most of the time, the one before the last."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, [max(size, 2) for size in SIZES], (count, len(SIZES)))
    for i in range(2, len(SIZES)):
        last = codes[:, i - 2] % max(SIZES[i], 2)
        codes[:, i] = np.where(rng.random(count) < 0.8, last, codes[:, i])
    parts = [
        code[:, None] if size == 1 else np.eye(size, dtype=int)[code]
        for size, code in zip(SIZES, codes.T, strict=True)
    ]
    return PackedBits.pack(np.concatenate(parts, axis=1).astype(np.uint8))


def data_of_copies(train=400):
    tables = copies(train, 0), copies(300, 1), copies(0, 2)
    # Of a schema nothing but the groups is asked.
    table = TableRows(SimpleNamespace(groups=SIZES), {}, {}, {}, np.zeros(len(SIZES)), {})
    return Dataset("copies", *tables, "bits", table=table)


def test_every_order_is_a_distribution_over_rows_in_groups(key):
    data = data_of_copies()
    rows = PackedBits.pack(every_row(SIZES).astype(np.uint8))
    mixture = fit_sparse(data)
    models = mixture.components
    assert [model.p[0].order for model in models] == list(ORDERS)
    assert len(set(np.asarray(mixture.log_weights).tolist())) == 1
    for model in models:
        total = np.exp(infer_rows(model, rows, 1, key).log_likelihood).sum()
        assert total == pytest.approx(1, abs=1e-5)


def test_the_search_scores_what_the_model_says(key):
    data = data_of_copies()
    for order in ORDERS:
        rows = sparse_model._Regressions.of(data, order)
        path, best = sparse_model._search(rows)
        said = infer_rows(rows.machine(best), data.valid, 1, key).log_likelihood.mean()
        assert rows.score(best) == pytest.approx(said, abs=1e-4)
        assert path.penalty in sparse_model.PENALTIES


def test_the_penalised_solution_is_scikit_learn_s(monkeypatch):
    monkeypatch.setattr(sparse_model, "ITERATIONS", 500)
    jax.clear_caches()
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2, (300, 5), np.uint8)
    bits[:, 4] = np.where(rng.random(300) < 0.8, bits[:, 1], bits[:, 4])
    table = PackedBits.pack(bits)
    rows = sparse_model._Regressions.of(Dataset("five", table, table, table, "bits"), 0)
    found = rows.solve(rows.start(), 4.0)
    peer = LogisticRegression(l1_ratio=1.0, C=1 / 4.0, solver="saga", max_iter=10_000, tol=1e-8)
    peer.fit(bits[:, :4], bits[:, 4])
    np.testing.assert_allclose(np.asarray(found.W)[4, :4], peer.coef_[0], atol=2e-3)
    bias = found.b - found.W @ rows.mean
    assert float(bias[4]) == pytest.approx(peer.intercept_[0], abs=2e-3)
    assert (np.asarray(found.W)[4] == 0).sum() > 1
    jax.clear_caches()


def test_weights_of_noise_are_zero_and_those_of_copies_are_not():
    rng = np.random.default_rng(4)
    tables = []
    for count in (300, 300, 0):
        bits = rng.integers(0, 2, (count, 12), np.uint8)
        bits[:, 7] = np.where(rng.random(count) < 0.9, bits[:, 2], bits[:, 7])
        tables.append(PackedBits.pack(bits))
    first = fit_sparse(Dataset("one copy", *tables, "bits")).components[0]
    weights = np.abs(np.asarray(first.p[0].S))
    assert weights[7, 2] > 1
    pairs = itertools.combinations(range(12), 2)
    others = [weights[j, i] for i, j in pairs if (i, j) != (2, 7)]
    assert np.mean(np.array(others) == 0) > 0.8
    assert max(others) < 0.5


def test_few_rows_of_many_columns_are_better_off_with_them():
    """Where each column depends on one other, a NADE learns noise and the mixture takes them."""
    rng = np.random.default_rng(5)
    tables = []
    for count in (250, 150, 0):
        bits = rng.integers(0, 2, (count, 40), np.uint8)
        for i in range(20, 40):
            bits[:, i] = np.where(rng.random(count) < 0.85, bits[:, i - 20], bits[:, i])
        tables.append(PackedBits.pack(bits))
    data = Dataset("pairs", *tables, "bits")
    with_them = fit_automatic(data, minutes=0.4, progress=False).model
    assert sum(isinstance(each.p[0], ARSBN) for each in with_them.components) == len(ORDERS)
    without = fit_automatic(data, minutes=0.1, progress=False).model
    assert not any(isinstance(each.p[0], ARSBN) for each in without.components)
    scores = [
        infer_rows(model, data.valid, 10, jax.random.key(0)).log_likelihood.mean()
        for model in (with_them, without)
    ]
    assert scores[0] > scores[1] + 0.5


def test_when_they_are_tried():
    data = data_of_copies()
    assert 0 < sparse_seconds(data, 120) < 12
    assert sparse_seconds(data, 10) == 0
    assert sparse_seconds(data_of_copies(train=5001), 600) == 0
    bits = np.zeros((100, 3000), np.uint8)
    wide = PackedBits.pack(bits)
    assert sparse_seconds(Dataset("wide", wide, wide, wide, "bits"), 120) == 0
    gaps = MaskedBits.pack(bits[:, :3], np.ones((100, 3), np.uint8), (1, 1, 1))
    assert sparse_seconds(Dataset("gaps", gaps, gaps, gaps, "bits"), 120) == 0
