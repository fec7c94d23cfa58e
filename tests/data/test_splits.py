import numpy as np
import pytest

from wakesleep.data import load_dataset
from wakesleep.errors import UsageError


@pytest.fixture
def table(tmp_path):
    """1000 different rows: each the binary digits of its number."""
    rows = np.unpackbits(np.arange(1000, dtype=">u2").view(np.uint8).reshape(-1, 2), axis=1)
    np.save(tmp_path / "table.npy", rows)
    return tmp_path / "table.npy"


def numbers(bits):
    return bits[:] @ (1 << np.arange(15, -1, -1))


def test_fractions_divide_all_rows_once_each_in_file_order(table):
    data = load_dataset(str(table))
    assert [len(bits) for bits in data.splits.values()] == [800, 100, 100]
    parts = [numbers(bits) for bits in data.splits.values()]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(1000))
    assert all((np.diff(part) > 0).all() for part in parts)


def test_the_seed_decides_the_split(table):
    tests = [numbers(load_dataset(table, seed=seed).test) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(tests[0], tests[1])
    assert not np.array_equal(tests[0], tests[2])
    # A change here would move rows of users' test sets into their training sets.
    assert tests[0][:5].tolist() == [6, 28, 34, 36, 53]


def test_a_fraction_of_zero_is_an_empty_split(table):
    data = load_dataset(table, split=(0, 0.5, 0.5))
    assert [len(bits) for bits in data.splits.values()] == [0, 500, 500]
    assert data.train.features == 16


@pytest.mark.parametrize(
    "split", [(0.8, 0.1), (0.8, 0.1, 0.2), (1.5, -0.5, 0), (float("nan"), 0.5, 0.5)]
)
def test_improper_fractions(table, split):
    given = ", ".join(f"{fraction:g}" for fraction in split)
    with pytest.raises(UsageError) as caught:
        load_dataset(table, split=split)
    assert str(caught.value) == (
        f"split ({given}) must be three fractions for train, valid and test that sum to 1"
    )


def test_a_fraction_too_small_for_any_row(tmp_path):
    np.save(tmp_path / "few.npy", np.eye(4))
    with pytest.raises(UsageError) as caught:
        load_dataset(tmp_path / "few.npy")
    assert str(caught.value) == (
        f"{tmp_path / 'few.npy'} has 4 rows, of which a fraction of 0.1 leaves none for test: "
        "give more rows, a larger fraction, or 0"
    )


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    np.savetxt(tmp_path / "b.csv", np.ones((2, 3)), delimiter=",")
    np.savetxt(tmp_path / "c.amat", np.zeros((1, 3)))
    np.savetxt(tmp_path / "wide.csv", np.zeros((2, 4)), delimiter=",")
    np.savez(tmp_path / "three.npz", train=np.eye(3), valid=np.ones((2, 3)), labels=np.arange(3))
    np.savez(tmp_path / "uneven.npz", train=np.eye(3), test=np.ones((2, 2)))
    return tmp_path


def test_a_file_per_split(folder):
    a, b, c = (folder / name for name in ("a.npy", "b.csv", "c.amat"))
    for data in (
        load_dataset(a, valid=b, test=str(c)),
        load_dataset({"test": c, "train": a, "valid": b}),
    ):
        assert data.train[:].tolist() == np.eye(3).tolist()
        assert data.valid[:].tolist() == np.ones((2, 3)).tolist()
        assert data.test[:].tolist() == np.zeros((1, 3)).tolist()
    assert load_dataset(a, test=c).valid.shape == (0, 3)


def test_arrays_named_by_split(folder):
    data = load_dataset(folder / "three.npz")
    assert [bits.shape for bits in data.splits.values()] == [(3, 3), (2, 3), (0, 3)]
    assert data.valid[:].all()


def test_users_images(folder):
    data = load_dataset(folder / "wide.csv", split=None, image_shape=(2, 2))
    assert data.images(data.train[:]).shape == (2, 2, 2)


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        (
            "a.npy",
            {"valid": "wide.csv"},
            "{folder}/wide.csv has 4 columns, but {folder}/a.npy has 3: "
            "all splits must be equally wide",
        ),
        (
            "uneven.npz",
            {},
            "{folder}/uneven.npz, array 'test' has 2 columns, but {folder}/uneven.npz, "
            "array 'train' has 3: all splits must be equally wide",
        ),
        (
            "three.npz",
            {"test": "c.amat"},
            "{folder}/three.npz has arrays for several splits, so it must be given alone, "
            "not as train",
        ),
        (
            "three.npz",
            {"split": (0.5, 0.25, 0.25)},
            "{folder}/three.npz comes with its own splits: leave the split fractions out",
        ),
        (
            "a.npy",
            {"test": "c.amat", "split": (0.5, 0.25, 0.25)},
            "a data set of several files comes with its own splits: leave the split fractions out",
        ),
        (
            "a.npy",
            {"size": 3},
            "a data set of files has no option 'size'; valid: valid, test, image_shape, binarise, "
            "columns, table, schema",
        ),
    ],
)
def test_errors(folder, source, options, sentence):
    paths = {key: folder / v if isinstance(v, str) else v for key, v in options.items()}
    with pytest.raises(UsageError) as caught:
        load_dataset(folder / source, **paths)
    assert str(caught.value) == sentence.format(folder=folder)


@pytest.mark.parametrize(
    ("names", "given"), [(["valid"], "valid"), (["train", "dev"], "train, dev"), ([], "nothing")]
)
def test_files_by_an_unknown_split(folder, names, given):
    with pytest.raises(UsageError) as caught:
        load_dataset(dict.fromkeys(names, folder / "a.npy"))
    assert str(caught.value) == (
        f"files by split must be named train, valid and test, with train among them, not: {given}"
    )
