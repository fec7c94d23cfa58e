"""Rows whose numbers are moved: by how much, and the same pass moves them alike."""

import numpy as np
import pandas as pd
import pytest

import wakesleep as ws
from wakesleep.data.smoothed_rows import smoothed_rows

ROWS = 400


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    a = rng.normal(0, 1, ROWS)
    frame = pd.DataFrame(
        {
            "a": a,
            "b": 10 + a + rng.normal(0, 0.3, ROWS),
            "zero": np.where(rng.random(ROWS) < 0.4, 0.0, rng.exponential(5, ROWS)),
            "level": rng.choice(list("xyz"), ROWS),
        }
    )
    frame.loc[:30, "b"] = np.nan
    return ws.load_dataset(frame, split=None, table={"within": "gaussian"})


def test_noise_keeps_the_covariance_and_what_is_no_number(data):
    smoothing, schema = data.table.smoothing, data.schema
    within, rows = schema.within, smoothing.rows
    everything, rng = np.arange(ROWS), np.random.default_rng(1)
    for times in (0.0, 1.0):
        moved = smoothing.moved(everything, times, rng)
        assert np.array_equal(moved < 0, rows.codes < 0)
        atom = rows.codes[:, 2] == schema.states[2] - 1
        assert atom.mean() > 0.3
        assert np.array_equal(moved[atom, 2], rows.codes[atom, 2])
        assert np.array_equal(moved[:, 3], rows.codes[:, 3])
        assert np.array_equal(moved, rows.codes) == (times == 0)
    whole = rows.within[31:][:, within.groups]
    nearest = within.nearest(whole, schema.bins_within())
    many = [within.smoothed(whole, nearest, 0.5, rng.normal(size=whole.shape)) for _ in range(50)]
    spread = np.cov(np.concatenate(many).T)
    np.testing.assert_allclose(spread[:2, :2], np.cov(whole.T)[:2, :2], rtol=0.1)


def test_a_pass_moves_a_row_alike_whatever_rows_are_with_it(data):
    rows = smoothed_rows(data, 1.0)
    chosen = np.array([5, 300, 7])
    one, other = (rows.epoch_rows(chosen, 0, number) for number in (3, 4))
    alone = rows.epoch_rows(chosen[1:2], 0, 3)
    for name in ("bits", "observed"):
        assert np.array_equal(one[name][1:2], alone[name])
    assert not np.array_equal(one["bits"], other["bits"])
    assert smoothed_rows(data, 0) is data.train


def test_a_recipe_smooths_and_is_refused_where_there_are_no_numbers(data):
    recipe = ws.Recipe(epochs=1, smoothing=1.0)
    plain, moved = (
        ws.fit("sbn", data, each, progress=False).model.p[0].b
        for each in (ws.Recipe(epochs=1), recipe)
    )
    assert not np.array_equal(plain, moved)
    bars = ws.load_dataset("bars", size=2, train=20, valid=0, test=0)
    with pytest.raises(ws.UsageError, match="leave it out of the recipe"):
        ws.fit("sbn", bars, recipe, progress=False)
