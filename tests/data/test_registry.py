import subprocess
import sys

import numpy as np
import pytest
from sklearn import datasets

from wakesleep.data import DATASETS, Dataset, PackedBits, list_datasets, load_dataset
from wakesleep.errors import DataError, UsageError


@pytest.mark.parametrize("name", DATASETS)
def test_every_registered_set_is_as_its_entry_says(name):
    entry = DATASETS[name]
    assert entry.name == name
    if not entry.present():
        pytest.skip(entry.absence())
    data = load_dataset(name)
    assert data.name == name
    assert data.binarisation
    assert tuple(map(len, data.splits.values())) == entry.sizes
    assert {bits.features for bits in data.splits.values()} == {entry.features}
    if data.image_shape:
        assert data.images(data.train[:2]).shape == (2, *data.image_shape)


def test_the_listing_says_what_is_here_and_why_not(monkeypatch, tmp_path):
    monkeypatch.setenv("WAKESLEEP_DATA", str(tmp_path))
    listing = {entry.name: entry for entry in list_datasets()}
    assert list(listing) == list(DATASETS)
    assert listing["bars"].absence is None
    assert listing["digits"].sizes == (1197, 300, 300)
    assert listing["rcv1"].absence == (
        f"no data here: there is no file {tmp_path / 'rcv1.npz'}, "
        "and WAKESLEEP_DATA must name the folder that holds rcv1.npz"
    )


def test_digits_are_the_thresholded_originals_in_a_fixed_order():
    data = load_dataset("digits")
    rows = np.concatenate([bits[:] for bits in data.splits.values()])
    original = (datasets.load_digits().data >= 8).astype(np.uint8)
    np.testing.assert_array_equal(np.unique(rows, axis=0), np.unique(original, axis=0))
    assert rows.sum() == original.sum() == 37151
    # Results on digits compare only while these stay.
    assert [int(bits[:].sum()) for bits in data.splits.values()] == [24682, 6234, 6235]
    assert data.binarisation == "threshold at 8 of 16"


def test_digits_are_the_same_where_scikit_learn_keeps_them_elsewhere(monkeypatch):
    from_file = load_dataset("digits")
    monkeypatch.setattr("wakesleep.data.digits.find_spec", lambda name: None)
    np.testing.assert_array_equal(load_dataset("digits").train[:], from_file.train[:])


def test_an_unknown_name_lists_the_valid_ones():
    with pytest.raises(UsageError) as caught:
        load_dataset("minst")
    assert str(caught.value) == (
        f"unknown data set 'minst'; valid: {', '.join(DATASETS)}, or a path to a file"
    )


def test_registered_sets_keep_their_splits():
    with pytest.raises(UsageError) as caught:
        load_dataset("digits", split=(0.5, 0.25, 0.25))
    assert str(caught.value) == (
        "data set 'digits' comes with its own splits: leave the split fractions out"
    )
    assert len(load_dataset("digits", split=None, seed=5).train) == 1197


def test_images_are_transposed_where_pixels_run_down_the_columns():
    picture = np.arange(6).reshape(2, 3)
    nothing = PackedBits.pack(np.zeros((0, 6)))

    def images(x, **how):
        data = Dataset("x", nothing, nothing, nothing, "none", image_shape=(2, 3), **how)
        return data.images(x)

    np.testing.assert_array_equal(images(picture.reshape(1, 6)), picture[None])
    by_columns = picture.T.reshape(1, 6)
    np.testing.assert_array_equal(images(by_columns, column_major=True), picture[None])


@pytest.mark.parametrize(
    ("shape", "pixels", "sentence"),
    [
        (None, 6, "the rows of data set 'x' are not images"),
        ((2, 3), 5, "images of data set 'x' have 6 pixels, not 5"),
        ((2, 2), 6, "data set 'x' has 6 columns, which are no images of 2 x 2 pixels"),
    ],
)
def test_what_is_no_image(shape, pixels, sentence):
    bits = PackedBits.pack(np.zeros((1, 6)))
    with pytest.raises(UsageError) as caught:
        Dataset("x", bits, bits, bits, "none", image_shape=shape).images(np.zeros((1, pixels)))
    assert str(caught.value) == sentence


def test_splits_of_different_widths_make_no_data_set():
    wide, narrow = PackedBits.pack(np.zeros((1, 6))), PackedBits.pack(np.zeros((1, 5)))
    with pytest.raises(DataError) as caught:
        Dataset("x", wide, wide, narrow, "none")
    assert str(caught.value) == (
        "test has 5 columns, but train has 6: all splits must be equally wide"
    )


def test_the_package_waits_for_no_heavy_import():
    heavy = "', '.join({'jax', 'scipy', 'sklearn'} & set(sys.modules))"
    program = f"import sys, wakesleep.data as d; d.list_datasets(); sys.exit({heavy} or 0)"
    subprocess.run([sys.executable, "-c", program], check=True)
