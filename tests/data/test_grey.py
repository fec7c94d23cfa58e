import numpy as np
import pytest

from wakesleep.data import GreyRows, as_bits, load_dataset, pack_dataset
from wakesleep.data.archives import absence
from wakesleep.errors import DataError, UsageError

LEVELS = np.array([0, 1, 2, 50, 100, 127, 128, 200, 254, 255, 3], np.uint8)
DYNAMIC = "dynamic: training bits drawn anew each epoch from grey values; valid and test drawn once"


def unpacked(rows, features):
    return np.unpackbits(rows, axis=-1, count=features)


def drawn(grey, epochs, seed=0):
    everything = np.arange(len(grey))
    packed = [grey.epoch_rows(everything, seed, epoch) for epoch in range(epochs)]
    return unpacked(np.stack(packed), grey.features)


@pytest.mark.parametrize("kind", ["bytes", "floats"])
def test_ones_come_with_the_probability_of_the_grey_value(kind):
    probabilities = LEVELS / 255
    table = LEVELS if kind == "bytes" else probabilities.astype(np.float32)
    bits = drawn(GreyRows(np.tile(table, (300, 1))), epochs=100)
    share = bits.mean(axis=(0, 1))
    error = np.sqrt(probabilities * (1 - probabilities) / 30_000)
    assert (np.abs(share - probabilities) <= 4 * error).all()
    assert share[0] == 0
    assert share[9] == 1


def test_bits_of_neighbours_and_of_epochs_are_independent():
    bits = drawn(GreyRows(np.full((64, 63), 0.5, np.float32)), epochs=60) - 0.5
    for axis in range(3):
        for lag in (1, 2, 8):
            ahead = np.moveaxis(bits, axis, 0)[lag:]
            behind = np.moveaxis(bits, axis, 0)[:-lag]
            assert abs((ahead * behind).mean()) < 4 * 0.25 / np.sqrt(ahead.size)


def test_bits_depend_on_row_seed_and_epoch_alone():
    rows = GreyRows(np.random.default_rng(0).integers(0, 256, (500, 301), np.uint8))
    everything = rows.epoch_rows(np.arange(500), 7, 3)
    chosen = np.array([499, 3, 3, 250])
    np.testing.assert_array_equal(rows.epoch_rows(chosen, 7, 3), everything[chosen])
    for seed, epoch in ((7, 4), (8, 3), (3, 7)):
        changed = unpacked(rows.epoch_rows(np.arange(500), seed, epoch) ^ everything, 301)
        # Two draws of a bit of uniform probability p differ with 2 E[p(1-p)] = 1/3.
        assert changed.mean() == pytest.approx(1 / 3, abs=0.01)


def test_whoever_looks_sees_the_same_bits_each_time():
    rows = GreyRows(np.random.default_rng(0).integers(0, 256, (20, 13), np.uint8))
    once = rows.once()
    np.testing.assert_array_equal(rows[:], once[:])
    np.testing.assert_array_equal(rows[[3, 1]], once[[3, 1]])
    np.testing.assert_array_equal(rows[4], once[4])
    np.testing.assert_array_equal(np.asarray(rows), once[:])
    np.testing.assert_array_equal(as_bits(rows)[:], once[:])
    assert not np.array_equal(rows.once(1).rows, once.rows)
    assert not np.array_equal(rows.epoch_rows(np.arange(20), 0, 0), once.rows)
    with pytest.raises(TypeError, match="by rows alone"):
        rows[0, 1]


def test_means_are_those_of_the_probabilities():
    grey = np.random.default_rng(0).integers(0, 256, (30, 5), np.uint8)
    rows = GreyRows(grey)
    np.testing.assert_allclose(rows.mean(), (grey / 255).mean(axis=0))
    np.testing.assert_allclose(rows.smoothed_mean(), ((grey / 255).sum(axis=0) + 1) / 32)
    with pytest.raises(DataError, match="no mean"):
        rows.take([]).mean()


@pytest.fixture
def grey_file(tmp_path):
    grey = np.random.default_rng(1).integers(0, 256, (100, 12), np.uint8)
    np.save(tmp_path / "grey.npy", grey)
    return tmp_path / "grey.npy", grey


def test_a_file_binarised_in_every_epoch(grey_file):
    path, grey = grey_file
    data = load_dataset(path, binarise="dynamic", image_shape=(3, 4))
    assert data.binarisation == DYNAMIC
    assert [len(table) for table in data.splits.values()] == [80, 10, 10]
    assert isinstance(data.train, GreyRows)
    assert {row.tobytes() for row in data.train.grey} < {row.tobytes() for row in grey}
    again = load_dataset(path, binarise="dynamic", image_shape=(3, 4))
    np.testing.assert_array_equal(again.valid.rows, data.valid.rows)
    np.testing.assert_array_equal(again.test.rows, data.test.rows)
    assert data.images(data.train[:2]).shape == (2, 3, 4)
    with pytest.raises(UsageError, match="anew in every epoch, so it has none to pack"):
        pack_dataset(data, path.with_suffix(".safetensors"))


def test_a_grey_file_of_its_own_stays_on_the_disk(grey_file):
    path, grey = grey_file
    train = load_dataset({"train": path, "test": path}, binarise="dynamic").train
    assert isinstance(train.grey, np.memmap)
    everything = np.arange(len(grey))
    expected = GreyRows(grey).epoch_rows(everything, 0, 0)
    np.testing.assert_array_equal(train.epoch_rows(everything, 0, 0), expected)


@pytest.mark.parametrize("threshold", [0.5, "0.5"])
@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.float64, np.float16])
def test_a_file_binarised_by_a_threshold(tmp_path, threshold, kind):
    grey = np.array([[0, 127, 128, 255], [200, 3, 255, 0]], np.uint8)
    table = grey if kind == np.uint8 else (grey / 255).astype(kind)
    np.savez(tmp_path / "a.npz", train=table, test=table[::-1])
    data = load_dataset(tmp_path / "a.npz", binarise=threshold)
    assert data.train[:].tolist() == [[0, 0, 1, 1], [1, 0, 1, 0]]
    assert data.test[:].tolist() == [[1, 0, 1, 0], [0, 0, 1, 1]]
    assert data.binarisation == "threshold: 1 where the grey value is 0.5 or more of 1"


def test_a_value_at_the_threshold_is_a_one(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[0.1, 0.7, 0.3]], np.float32))
    data = load_dataset(tmp_path / "a.npy", binarise=0.7, split=None)
    assert data.train[:].tolist() == [[0, 1, 0]]


@pytest.mark.parametrize(
    ("values", "how", "sentence"),
    [
        (
            np.array([[0.5, 1.5]]),
            "dynamic",
            "{path}, row 1, column 2: found 1.5, but floating-point grey values must be "
            "from 0 to 1 (rows and columns count from 1)",
        ),
        (
            np.array([[0.5], [np.nan]], np.float32),
            0.5,
            "{path}, row 2, column 1: found nan, but floating-point grey values must be "
            "from 0 to 1 (rows and columns count from 1)",
        ),
        (
            np.array([[0, 255]]),
            0.5,
            "{path} holds values of type int64, but grey values must be uint8 "
            "from 0 to 255 or floating-point numbers from 0 to 1",
        ),
        (
            np.eye(3, dtype=np.uint8),
            "dynamic",
            "{path} holds nothing above 1 of 255: bits need no binarisation, "
            "and grey values from 0 to 1 must be floating-point numbers",
        ),
        (
            np.zeros(3),
            0.5,
            "{path} has 1 dimension, shape (3,), but it must have 2: rows and columns",
        ),
        *(
            (
                np.eye(3),
                how,
                f"binarise '{how}' must be 'dynamic' or a threshold above 0 and at most 1",
            )
            for how in ("dynamics", 0, -1, 1.5, "nan")
        ),
    ],
)
def test_what_cannot_be_binarised(tmp_path, values, how, sentence):
    path = tmp_path / "a.npy"
    np.save(path, values)
    with pytest.raises(UsageError) as caught:
        load_dataset(path, binarise=how)
    assert str(caught.value) == sentence.format(path=path)


def test_bits_need_no_binarisation(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, train=np.packbits(np.eye(9, dtype=np.uint8), axis=1), n_features=9)
    with pytest.raises(DataError, match="holds packed bits, which need no binarisation"):
        load_dataset(path, binarise="dynamic")
    (tmp_path / "a.csv").write_text("0,1\n")
    with pytest.raises(UsageError, match=r"read from \.npy and \.npz files"):
        load_dataset(tmp_path / "a.csv", binarise=0.5)
    with pytest.raises(UsageError, match="data set 'digits' has no option 'binarise'"):
        load_dataset("digits", binarise=0.5)


def test_mnist_binarised_in_every_epoch():
    reason = absence("mnist_grey")
    if reason:
        pytest.skip(reason)
    data = load_dataset("mnist_dynamic")
    assert data.binarisation == DYNAMIC
    assert data.train.mean().mean() == pytest.approx(0.1305, abs=5e-4)
    error = np.sqrt(0.25 / (10_000 * 784))
    grey = as_bits(data.valid).mean().mean()
    assert grey == pytest.approx(data.train.mean().mean(), abs=0.003 + 4 * error)
