"""Latent classes as a model of bits, and what the automatic default puts together."""

import itertools

import jax
import numpy as np
import pytest

import wakesleep as ws
from wakesleep.data import Dataset, MaskedBits, PackedBits
from wakesleep.inference.mixing import cross_fitted, joined
from wakesleep.inference.posterior import infer_rows
from wakesleep.schema import LatentClasses, codes_of
from wakesleep.training.automatic_mixture import assemble, fewest
from wakesleep.training.class_model import class_model, fit_classes, rows_repeat

SIZES = (3, 1, 2)
STATES = (3, 2, 2)


def rows_of_classes(count, seed, gaps=0.2):
    """Two kinds of rows, in groups of three units, one and two."""
    rng = np.random.default_rng(seed)
    kind = rng.random(count) < 0.5
    codes = np.stack([np.where(kind, n - 1, 0) for n in STATES], axis=1)
    codes = np.where(rng.random(codes.shape) < 0.1, rng.integers(0, STATES, codes.shape), codes)
    observed = rng.random(codes.shape) >= gaps
    parts = [np.eye(3)[codes[:, 0]], codes[:, 1:2], np.eye(2)[codes[:, 2]]]
    bits = np.concatenate(parts, axis=1).astype(np.uint8) * np.repeat(observed, SIZES, axis=1)
    return MaskedBits.pack(bits.astype(np.uint8), observed.astype(np.uint8), SIZES)


def data_of_classes(train=200, valid=60):
    rows = rows_of_classes(train, 0), rows_of_classes(valid, 1), rows_of_classes(0, 2)
    return Dataset("classes", *rows, "bits")


def test_the_model_gives_every_row_the_probability_that_the_classes_give(key):
    data = data_of_classes()
    classes = LatentClasses.fit(codes_of(data.train[:], SIZES, data.train.observed[:] > 0), STATES)
    assert classes.classes > 1
    # -1 is a missing cell; rows without any make up all there is.
    every = np.array(list(itertools.product(*(range(-1, count) for count in STATES))))
    whole = (every >= 0).all(axis=1)
    levels = [np.eye(3)[every[:, 0]], every[:, 1:2] > 0, np.eye(2)[every[:, 2]]]
    observed = every >= 0
    bits = np.concatenate(levels, axis=1) * np.repeat(observed, SIZES, axis=1)
    table = MaskedBits.pack(bits.astype(np.uint8), observed.astype(np.uint8), SIZES)
    model = class_model(classes, data)
    found = infer_rows(model, table, 1, key).log_likelihood
    assert np.allclose(found, classes.log_prob(every), atol=1e-5)
    assert np.exp(found[whole]).sum() == pytest.approx(1, abs=1e-5)
    assert np.array_equal(codes_of(table[:], SIZES, table.observed[:] > 0), every)


def test_a_column_without_structure_has_one_class_which_is_independent_columns(key):
    rng = np.random.default_rng(3)
    bits = [PackedBits.pack(rng.integers(0, 2, (n, 8), np.uint8)) for n in (300, 300, 0)]
    model = fit_classes(Dataset("noise", *bits, "bits"))
    assert len(model.components) == 1
    assert ws.describe(model) == "mixture of 1: sbn"


BITS = (2,) * 5


def even_rows(count, seed):
    """Rows of five bits with an even number of ones, 16 of the 32 there are."""
    bits = np.random.default_rng(seed).integers(0, 2, (count, 4), np.uint8)
    return np.concatenate([bits, bits.sum(1, keepdims=True) % 2], axis=1).astype(np.uint8)


def test_a_class_for_each_distinct_row_has_the_rows_frequencies():
    codes = even_rows(4000, 0)
    made = LatentClasses.of_distinct_rows(codes, BITS)
    distinct, counts = np.unique(codes, axis=0, return_counts=True)
    assert made.classes == len(distinct) == 16
    assert np.allclose(np.exp(made.log_prob(distinct)), counts / len(codes), rtol=0.02)
    every = np.array(list(itertools.product((0, 1), repeat=5)))
    found = np.exp(made.log_prob(every))
    assert found.sum() == pytest.approx(1)
    assert (found > 0).all()


def test_gaps_and_many_distinct_rows_have_no_classes_of_their_own():
    codes = even_rows(50, 0).astype(int)
    gap = codes.copy()
    gap[0, 0] = -1
    assert LatentClasses.of_distinct_rows(gap, BITS) is None
    assert LatentClasses.of_distinct_rows(codes[:0], BITS) is None
    many = np.arange(65)[:, None]
    assert LatentClasses.of_distinct_rows(many, (65,)) is None
    assert LatentClasses.of_distinct_rows(many[:64], (65,)).classes == 64


def test_few_distinct_rows_are_among_the_classes(key):
    rows = [even_rows(count, seed) for seed, count in enumerate((600, 200, 400))]
    model = fit_classes(Dataset("even", *map(PackedBits.pack, rows), "bits"))
    plain = LatentClasses.fit(rows[0], BITS, rows[1])
    assert len(model.components) == plain.classes + 16
    found = infer_rows(model, PackedBits.pack(rows[2]), 1, key).log_likelihood.mean()
    # Sixteen rows alike are the best there is; classes that share their rows' bits miss parity.
    assert plain.log_prob(rows[2]).mean() + 0.3 < found < -np.log(16)


def test_rows_repeat_where_each_is_there_often():
    def repeats(train, gaps=None):
        tables = [PackedBits.pack(rows) for rows in (train, train[:9], train[:0])]
        if gaps is not None:
            tables = [MaskedBits.pack(t[:], gaps[: len(t)], (1,) * 5) for t in tables]
        return rows_repeat(Dataset("even", *tables, "bits"))

    assert repeats(even_rows(480, 0))
    assert not repeats(even_rows(470, 0))
    gaps = np.ones((480, 5), np.uint8)
    assert repeats(even_rows(480, 0), gaps)
    gaps[-1, 0] = 0
    assert not repeats(even_rows(480, 0), gaps)
    # Many distinct rows behind so many alike that some do not show them.
    late = np.zeros((9000, 8), np.uint8)
    late[-100:] = np.random.default_rng(0).integers(0, 2, (100, 8))
    assert len(np.unique(late, axis=0)) > 64
    assert not repeats(late)


def test_rows_that_repeat_are_counted(key):
    rows = [PackedBits.pack(even_rows(count, seed)) for seed, count in enumerate((600, 60, 400))]
    data = Dataset("even", *rows, "bits")
    tried = []
    result = ws.fit(data, minutes=0.01, observers=[lambda e: tried.append(type(e).__name__)])
    assert tried.count("Tried") == 1
    assert ws.describe(result.model).endswith("x sbn")
    assert infer_rows(result.model, rows[2], 1, key).log_likelihood.mean() > -np.log(16) - 0.1


def test_weights_learned_on_other_rows_tell_a_useless_component():
    rng = np.random.default_rng(0)
    good = rng.normal(-3, 1, (50, 1))
    worse = good - 5
    np.testing.assert_allclose(cross_fitted(good), good[:, 0])
    assert cross_fitted(np.concatenate([good, worse], axis=1)).mean() < good.mean()
    turns = np.where(np.arange(50)[:, None] % 2, good, worse)
    others = np.where(np.arange(50)[:, None] % 2, worse, good)
    together = cross_fitted(np.concatenate([turns, others], axis=1)).mean()
    assert together > max(turns.mean(), others.mean()) + 1
    # More folds than rows: the weights are the prior's.
    np.testing.assert_allclose(cross_fitted(np.zeros((2, 2))), 0, atol=1e-12)


def test_fewer_are_taken_only_by_many_rows_that_are_sure():
    rng = np.random.default_rng(0)
    first = rng.normal(-10, 1, 2000)
    values = np.stack([first, first - rng.exponential(3, 2000)], axis=1)
    assert fewest(values, [(0,), (1,)]) == (0,)
    near = np.stack([first, first + rng.normal(0, 1, 2000)], axis=1)
    assert fewest(near, [(0,), (1,)]) == (0, 1)
    # A few hundred rows may seem to be sure, and choose nothing.
    assert fewest(values[:900], [(0,), (1,)]) == (0, 1)
    assert fewest(values[:1], [(0,)]) == (0, 1)


def test_what_is_surely_useless_is_left_out(key):
    data = data_of_classes(valid=1500)
    classes = fit_classes(data)
    # A machine that knows nothing loses to classes, which are then alone.
    plain = ws.build("sbn", sum(SIZES), key=key, groups=SIZES, masked=True)
    lost = assemble([plain], classes, data, 10, key)
    assert (lost.machines, len(lost.model.components)) == (0, len(classes.components))
    assert lost.valid_ll == pytest.approx(
        infer_rows(classes, data.valid, 10, key).log_likelihood.mean(), abs=1e-5
    )
    # One that is as good as they are makes them useless, and stays by itself.
    same = classes.components[0]
    assert assemble([same], ws.Mixture([same], [0.0]), data, 10, key) is None
    both = assemble([plain], classes, data_of_classes(valid=12), 10, key)
    assert (both.machines, len(both.model.components)) == (1, 1 + len(classes.components))


def test_joined_mixtures_keep_their_shares(key):
    parts = [ws.build("sbn", 3, key=each) for each in jax.random.split(key, 3)]
    inner = ws.Mixture(parts[1:], np.log([0.25, 0.75]))
    whole = joined([parts[0], inner], np.log([0.6, 0.4]))
    assert np.allclose(np.exp(whole.log_proportions), [0.6, 0.1, 0.3])
