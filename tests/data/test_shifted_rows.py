"""Training pictures moved by a few pixels."""

import dataclasses

import numpy as np
import pytest

import wakesleep as ws
from wakesleep.data import GreyRows
from wakesleep.data.bits import PackedBits
from wakesleep.data.shifted_rows import ShiftedRows, shifted_rows

SHAPE = (4, 5)


def unpacked(rows):
    return np.unpackbits(rows, axis=-1, count=np.prod(SHAPE)).reshape(-1, *SHAPE)


def one_pixel(count, background=0):
    """Pictures with a single pixel in their middle that is not background."""
    pictures = np.full((count, *SHAPE), background, np.uint8)
    pictures[:, 1, 2] = 1 - background
    return PackedBits.pack(pictures.reshape(count, -1))


@pytest.mark.parametrize("background", [0, 1])
def test_every_shift_is_as_likely_as_another(background):
    count = 9_000
    rows = ShiftedRows(one_pixel(count, background), SHAPE, 1, bool(background))
    moved = unpacked(rows.epoch_rows(np.arange(count), 0, 0)) ^ background
    assert (moved.sum(axis=(1, 2)) == 1).all()
    share = moved.mean(axis=0)
    around = share[0:3, 1:4]
    assert around.sum() == pytest.approx(1)
    assert np.abs(around - 1 / 9).max() < 4 * np.sqrt(8 / 81 / count)


def test_a_picture_moves_as_a_whole_and_background_comes_in():
    pictures = np.random.default_rng(0).integers(0, 2, (50, *SHAPE), np.uint8)
    rows = ShiftedRows(PackedBits.pack(pictures.reshape(50, -1)), SHAPE, 2)
    for picture, moved in zip(
        pictures, unpacked(rows.epoch_rows(np.arange(50), 0, 0)), strict=True
    ):
        wide = np.zeros((8, 9), np.uint8)
        wide[2:6, 2:7] = picture
        places = [
            wide[down : down + 4, right : right + 5] for down in range(5) for right in range(5)
        ]
        assert any(np.array_equal(moved, place) for place in places)


def test_a_shift_depends_on_row_seed_and_pass_alone():
    rows = ShiftedRows(one_pixel(400), SHAPE, 1)
    everything = rows.epoch_rows(np.arange(400), 7, 3)
    chosen = np.array([399, 3, 3, 250])
    np.testing.assert_array_equal(rows.epoch_rows(chosen, 7, 3), everything[chosen])
    for seed, number in ((7, 4), (8, 3), (3, 7)):
        other = rows.epoch_rows(np.arange(400), seed, number)
        assert (other == everything).all(axis=1).mean() == pytest.approx(1 / 9, abs=0.07)


def test_pictures_that_run_down_their_columns_and_grey_ones():
    data = ws.load_dataset("bars", size=3, train=20, valid=0, test=0)
    turned = dataclasses.replace(data, column_major=True, inverted=True)
    assert shifted_rows(turned, 1).background
    grey = GreyRows(np.full((30, 9), 255, np.uint8))
    drawn = shifted_rows(dataclasses.replace(data, train=grey), 1)
    ones = np.unpackbits(drawn.epoch_rows(np.arange(30), 0, 0), axis=1, count=9).sum(axis=1)
    assert set(ones) == {4, 6, 9}


def test_a_phase_with_shifts_sees_other_rows_and_the_next_sees_them_as_they_are():
    data = ws.load_dataset("bars", size=3, train=40, valid=0, test=0)
    phases = ({"shifts": 1}, {})
    recipes = [
        ws.Recipe(epochs=1),
        ws.Recipe(epochs=1, shifts=1),
        ws.Recipe(epochs=1, phases=phases),
    ]
    plain, shifted, both = (
        ws.fit("sbn", data, each, progress=False).model.p[0].b for each in recipes
    )
    assert not np.array_equal(plain, shifted)
    assert not np.array_equal(shifted, both)


def test_rows_that_are_no_images_are_refused_before_training():
    table = ws.load_dataset("penguins")
    recipe = ws.Recipe(epochs=1, phases=({}, {"shifts": 1}))

    def trained(event):
        raise AssertionError(event)

    with pytest.raises(ws.UsageError, match=r"shifts is for images.*leave it out"):
        ws.fit("sbn", table, recipe, progress=False, observers=[trained])
    bars = ws.load_dataset("bars", size=3, train=20, valid=0, test=0)
    with pytest.raises(ws.UsageError, match="out of sight: give less than 3"):
        ws.fit("sbn", bars, ws.Recipe(epochs=1, shifts=3), progress=False)
