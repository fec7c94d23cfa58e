"""The questions of the arena, asked of a model whose every row can be listed, and the page."""

import itertools

import numpy as np
import pytest
from benchmarks.arena.page import page, write_page
from benchmarks.arena.queries import Questions, Scorer, ask, conditional
from benchmarks.arena.scorers import chow_liu_tree, dependent_parts, ours
from benchmarks.tables.job import NotApplicableError
from benchmarks.tables.record import Store

from wakesleep.data import Dataset, PackedBits
from wakesleep.reproduce.experiments import Row

EVERY = np.array(list(itertools.product((0, 1), repeat=4)), np.int8)
LOG_P = np.log(np.random.default_rng(0).dirichlet(np.ones(len(EVERY))))


def listed(codes):
    """log p of the known bits, by adding up all rows that have them."""
    agree = ((codes[:, None] == EVERY) | (codes[:, None] < 0)).all(axis=-1)
    return np.log((agree * np.exp(LOG_P)).sum(axis=1))


def test_half_of_the_columns_are_hidden_and_one_of_these_is_asked_for():
    questions = Questions.of(EVERY)
    assert ((questions.half >= 0).sum(axis=1) == 2).all()
    places = np.arange(len(EVERY))
    assert (questions.half[places, questions.column] == -1).all()
    assert set(questions.column.tolist()) == {0, 1, 2, 3}
    known = questions.half >= 0
    assert (questions.half[known] == EVERY[known]).all()
    assert (questions.answers() == EVERY[places, questions.column]).all()


def test_answers_are_those_of_the_list():
    questions = Questions.of(EVERY)
    expected = listed(questions.with_column(0)), listed(questions.with_column(1))
    chosen = np.where(questions.answers() == 1, expected[1], expected[0])
    given = conditional(Scorer(listed), questions)
    np.testing.assert_allclose(given, chosen - listed(questions.half))
    found = ask(Scorer(listed, listed, {"model": "a list"}), questions)
    assert found["log-likelihood"] == pytest.approx(LOG_P.mean())
    assert (
        found["marginal"]
        == found["marginal, upper"]
        == pytest.approx(listed(questions.half).mean())
    )
    assert found["conditional"] == pytest.approx(given.mean())
    assert (found["rows"], found["model"]) == (16, "a list")
    assert found["log-likelihood seconds"] >= 0


def test_a_tree_answers_and_a_model_that_was_not_trained_is_not_asked(tmp_path):
    table = PackedBits.pack(np.repeat(EVERY, 3, axis=0))
    data = Dataset("list", table, table, table, "bits")
    row = Row("debd", "nltcs", "list", ("auto",))
    found = ask(chow_liu_tree(row, data, tmp_path), Questions.of(EVERY))
    assert found["log-likelihood"] == pytest.approx(-4 * np.log(2), abs=0.01)
    assert found["conditional"] == pytest.approx(-np.log(2), abs=0.01)
    with pytest.raises(NotApplicableError, match="was not run"):
        ours(row, data, tmp_path)


def test_columns_that_depend_on_each_other_are_one_part():
    torch = pytest.importorskip("torch")
    bits = np.repeat(EVERY, 20, axis=0).copy()
    bits[:, 3] = bits[:, 1]
    parts = dependent_parts(torch.tensor(bits.astype(np.float32))).tolist()
    assert parts[3] == parts[1]
    assert len(set(parts)) == 3


def test_the_page_has_both_sides_where_they_differ(tmp_path):
    values = ask(Scorer(listed, lambda codes: listed(codes) + 0.25), Questions.of(EVERY))
    line = {"part": "arena", "table": "nltcs", "split": 0, "method": "ours", "commit": "c0ffee"}
    store = Store(tmp_path / "measured.jsonl")
    store.add({**line, "method": "Chow-Liu tree", "values": values})
    store.add({**line, "values": {**values, "samples": 1000}})
    store.add({**line, "method": "SPFlow", "not_asked": "spflow is not installed"})
    write_page(store, tmp_path)
    text = (tmp_path / "benchmarks-arena.md").read_text(encoding="utf-8")
    assert text == page(store.rows())
    mean = LOG_P.mean()
    assert f"{mean:.3f} to {mean + 0.25:.3f}" in text
    assert f"| {values['conditional']:.4f} |" in text
    assert text.index("| nltcs | ours |") < text.index("| nltcs | Chow-Liu tree |")
    assert "spflow is not installed" in text
    assert "- bbc, ours: not measured." in text
    assert "- nltcs, ours: not measured." not in text
    assert "mean over 16 test rows" in text
