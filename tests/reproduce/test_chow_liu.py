"""Chow-Liu trees and the other rivals of the arena, against what listing every row says."""

import itertools

import numpy as np
import pytest

from wakesleep.data import Dataset, PackedBits
from wakesleep.reproduce import rivals
from wakesleep.reproduce.chow_liu import ChowLiuTree
from wakesleep.reproduce.document import document
from wakesleep.reproduce.experiments import Row
from wakesleep.reproduce.store import ExperimentStore

EVERY = np.array(list(itertools.product((0, 1), repeat=5)), np.int8)


def chain_rows(count, seed):
    """Bits that each copy the one before them most of the time, in an order of their own."""
    rng = np.random.default_rng(seed)
    bits = np.zeros((count, 5), np.int8)
    bits[:, 0] = rng.random(count) < 0.3
    for i in range(1, 5):
        bits[:, i] = np.where(rng.random(count) < 0.85, bits[:, i - 1], 1 - bits[:, i - 1])
    return bits[:, [2, 0, 4, 1, 3]]


TREE = ChowLiuTree.fit(chain_rows(3000, 0), chain_rows(500, 1))


def test_the_tree_of_a_chain_is_the_chain():
    edges = {
        frozenset((int(column), int(TREE.parents[column]))) for column in TREE.order[1:].tolist()
    }
    # Columns 1, 3, 0, 4, 2 stand in the chain's order.
    assert edges == {frozenset(pair) for pair in ((1, 3), (3, 0), (0, 4), (4, 2))}


def test_all_rows_together_have_probability_one():
    assert np.exp(TREE.log_prob(EVERY)).sum() == pytest.approx(1)


def test_no_tree_makes_its_rows_likelier():
    """Against every tree of four columns, each with its own counts."""
    bits = np.random.default_rng(2).integers(0, 2, (60, 4), np.int8)
    bits[:, 2] |= bits[:, 0]
    bits[:, 3] &= bits[:, 1] | bits[:, 2]
    found = ChowLiuTree.with_pseudo_rows(bits, 1e-9).log_prob(bits).sum()

    def entropy(columns):
        counts = np.unique(bits[:, columns], axis=0, return_counts=True)[1]
        return -(counts * np.log(counts / len(bits))).sum()

    def log_likelihood(edges):
        gains = [entropy([a]) + entropy([b]) - entropy([a, b]) for a, b in edges]
        return sum(gains) - sum(entropy([column]) for column in range(4))

    pairs = list(itertools.combinations(range(4), 2))
    spanning = [
        edges
        for edges in itertools.combinations(pairs, 3)
        if len(set(itertools.chain(*edges))) == 4
    ]
    trees = [edges for edges in spanning if is_connected(edges)]
    assert len(trees) == 16
    assert found == pytest.approx(max(map(log_likelihood, trees)))


def is_connected(edges):
    seen = {0}
    for _ in range(3):
        seen |= {end for edge in edges if seen & set(edge) for end in edge}
    return len(seen) == 4


def test_missing_cells_are_summed_out():
    whole = TREE.log_prob(EVERY)
    for known in ([0, 3], [1], [], [2, 4, 0]):
        rows = np.full_like(EVERY, -1)
        rows[:, known] = EVERY[:, known]
        same = (EVERY[:, None, known] == EVERY[None, :, known]).all(axis=-1)
        expected = np.log((same * np.exp(whole)).sum(axis=1))
        np.testing.assert_allclose(TREE.log_prob(rows), expected, atol=1e-12)


def test_a_column_that_never_varies_and_a_single_column():
    still = np.zeros((20, 3), np.int8)
    tree = ChowLiuTree.fit(still, still)
    every = np.array(list(itertools.product((0, 1), repeat=3)), np.int8)
    assert np.exp(tree.log_prob(every)).sum() == pytest.approx(1)
    assert np.isfinite(tree.log_prob(1 - still)).all()
    alone = ChowLiuTree.fit(still[:, :1], still[:, :1])
    assert np.exp(alone.log_prob(every[[0, 7], :1])).sum() == pytest.approx(1)


@pytest.fixture
def chain_data(monkeypatch):
    tables = [
        PackedBits.pack(chain_rows(count, seed)) for seed, count in enumerate((900, 200, 150))
    ]
    data = Dataset("chain", *tables, "bits")
    monkeypatch.setattr(rivals, "load_dataset", lambda name: data)
    return data


def test_rivals_are_run_once_and_stand_in_the_table(tmp_path, chain_data, monkeypatch):
    store = ExperimentStore(tmp_path / "runs", tmp_path / "results")
    row = Row("debd", "nltcs", "chain", ("auto",), rivals=True)
    result = rivals.run_rivals(store, row)
    tree, mixture = (result["rivals"][name] for name in ("Chow-Liu tree", "Bernoulli mixture"))
    bits = rivals.bits_of(chain_data.test)
    fitted = ChowLiuTree.fit(chain_rows(900, 0), chain_rows(200, 1))
    assert tree["nll"] == pytest.approx(-fitted.log_prob(bits).mean())
    # A chain is a tree; a mixture can only come near it.
    assert tree["nll"] < mixture["nll"] + 0.05
    assert mixture["components"] > 1
    monkeypatch.setattr(rivals, "RIVALS", {})
    assert rivals.run_rivals(store, row) == result
    text = document(store)
    assert "Chow-Liu tree, run here" in text
    line = next(line for line in text.splitlines() if line.startswith("| nltcs |"))
    assert f" {tree['nll']:.2f} | " in line
