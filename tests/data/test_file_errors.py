import contextlib

import numpy as np
import pytest
from scipy import sparse

from wakesleep.data import load_dataset
from wakesleep.errors import DataError

BITS = "but every value must be 0 or 1 (lines and columns count from 1)"
OR_TABLE = BITS + (
    "; a table of other values needs a header of names (--header if numbers are among them), or "
    "--no-header"
)
NO_ROWS = "{path} has no rows, but it must have at least one line of 0 and 1"
UNREADABLE = "{path} cannot be read: it is not a NumPy file, or a truncated or corrupt one"
OBJECTS = "{path} holds Python objects, which are never loaded: save a numeric array"


def refusal(path):
    with pytest.raises(DataError) as caught:
        load_dataset(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.csv", "", NO_ROWS),
        ("a.tsv", "\n \r\n", NO_ROWS),
        ("a.amat", "\t\n", NO_ROWS),
        ("a.csv", "only,a,header\n", "{path} has a header and no rows: give it at least one row"),
        ("a.csv", "0,1\n0,2\n", "{path}, line 2, column 2: found 2, " + OR_TABLE),
        ("a.csv", "0,nan\n", "{path}, line 1, column 2: found nan, " + OR_TABLE),
        ("a.amat", "-inf 1\n", "{path}, line 1, column 1: found -inf, " + BITS),
        ("a.csv", "0,1,\n", "{path}, line 1, column 3: found an empty cell, " + OR_TABLE),
        ("a.tsv", "0\t1\n\t\n", "{path}, line 2, column 1: found an empty cell, " + OR_TABLE),
        (
            "a.csv",
            "0,yes\n",
            "{path}, line 1, column 2: found 'yes', which is no number, " + OR_TABLE,
        ),
        (
            "a.amat",
            "a b\n0 1\n",
            "{path}, line 1, column 1: found 'a', which is no number, " + BITS,
        ),
        (
            "a.csv",
            "0,1\n0;1,0\n",
            "{path}, line 2, column 1: found '0;1', which is no number, " + OR_TABLE,
        ),
        (
            "a.csv",
            f"0,{'long' * 20}\n",
            "{path}, line 1, column 2: found '" + "long" * 9 + "lon..., " + OR_TABLE,
        ),
        (
            "a.csv",
            "0,1\n0,1,1\n",
            "{path}, line 2: found 3 values, but line 1 has 2 (lines count from 1)",
        ),
        (
            "a.amat",
            "0 1\n0\n",
            "{path}, line 2: found 1 values, but line 1 has 2 (lines count from 1)",
        ),
        (
            "a.xlsx",
            "0",
            "{path} is of no kind that can be read; "
            "valid extensions: .npy, .npz, .csv, .tsv, .data, .amat, .safetensors",
        ),
        ("a.npy", "", UNREADABLE),
        ("a.npy", "0,1\n", UNREADABLE),
        ("a.npz", "0,1\n", UNREADABLE),
    ],
)
def test_text(tmp_path, name, text, sentence):
    path = tmp_path / name
    path.write_text(text)
    assert refusal(path) == sentence.format(path=path)


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.zeros(3), "{path} has 1 dimension, shape (3,), but it must have 2: rows and columns"),
        (
            np.zeros((2, 3, 4)),
            "{path} has 3 dimensions, shape (2, 3, 4), but it must have 2: rows and columns",
        ),
        (np.zeros((0, 4)), "{path} has no rows, but it must have at least one"),
        (np.zeros((4, 0)), "{path} has no columns, but it must have at least one"),
        (
            np.array([["0"]]),
            "{path} holds values of type <U1, but it must be a numeric array of 0 and 1",
        ),
        (np.array([[0, None]]), OBJECTS),
    ],
)
def test_npy(tmp_path, array, sentence):
    path = tmp_path / "a.npy"
    np.save(path, array)
    assert refusal(path) == sentence.format(path=path)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"train": np.array([[0, None]])}, OBJECTS),
        (
            {"x": np.eye(2), "y": np.eye(2)},
            "{path} must hold one array, or arrays named train, valid and test, but it holds: x, y",
        ),
        (
            {},
            "{path} must hold one array, or arrays named train, valid and test, but it holds: none",
        ),
        (
            {"train": np.eye(2), "tset": np.eye(2)},
            "{path} must hold one array, or arrays named train, valid and test, "
            "but it holds: train, tset",
        ),
        (
            {"train": np.zeros((2, 2), np.uint8), "n_features": 17},
            "{path}, array 'train' is uint8 of shape (2, 2), which is not "
            "np.packbits(bits, axis=1) of 17 columns as n_features says",
        ),
        (
            {"train": np.array([[128, 1]], np.uint8), "n_features": 15},
            "{path}, array 'train' is uint8 of shape (1, 2), which is not "
            "np.packbits(bits, axis=1) of 15 columns as n_features says",
        ),
        (
            {"train": np.zeros((2, 2), np.uint8), "n_features": 0},
            "{path}, array 'train': n_features must be one whole number of 1 or more, not 0",
        ),
        (
            {"train": np.eye(2), "test": np.eye(2) * 3},
            "{path}, array 'test', row 1, column 1: found 3.0, "
            "but every value must be 0 or 1 (rows and columns count from 1)",
        ),
    ],
)
def test_npz(tmp_path, arrays, sentence):
    path = tmp_path / "a.npz"
    np.savez(path, **arrays)
    assert refusal(path) == sentence.format(path=path)


def test_sparse_indices_outside_the_matrix(tmp_path):
    path = tmp_path / "a.npz"
    matrix = sparse.csr_matrix(np.eye(3))
    matrix.indices[1] = 1_000_000
    sparse.save_npz(path, matrix)
    assert refusal(path) == UNREADABLE.format(path=path)


def test_repeated_sparse_entries_add_up(tmp_path):
    path = tmp_path / "a.npz"
    sparse.save_npz(path, sparse.coo_matrix(([1, 1], ([2, 2], [0, 0])), shape=(4, 2)))
    assert refusal(path).startswith(f"{path}, row 3, column 1: found 2, ")


def test_what_is_no_file(tmp_path):
    assert refusal(tmp_path / "a.csv") == f"there is no file {tmp_path / 'a.csv'}"
    (tmp_path / "b.npy").mkdir()
    assert refusal(tmp_path / "b.npy") == f"{tmp_path / 'b.npy'} is not a file"


@pytest.mark.parametrize("name", ["a.csv", "a.npy"])
def test_a_file_that_may_not_be_read(tmp_path, monkeypatch, name):
    path = tmp_path / name
    path.write_text("0,1\n")

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("io.open", refuse)
    monkeypatch.setattr("builtins.open", refuse)
    assert refusal(path) == f"{path} cannot be read: Permission denied"


def test_a_truncated_archive_is_refused_at_every_length(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, train=np.eye(9), test=np.eye(9))
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        assert refusal(path) == UNREADABLE.format(path=path)


def test_no_flipped_byte_of_an_archive_gets_past(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, table=np.eye(9))
    whole = path.read_bytes()
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 255]) + whole[position + 1 :])
        with contextlib.suppress(DataError):
            assert load_dataset(path, split=None).train[:].tolist() == np.eye(9).tolist()


@pytest.mark.parametrize("names", ["a,b,c", "a,b,c,d,e", "a,\udce0,,,,,,,b"])
def test_a_header_of_another_width_than_its_rows_is_refused(names, tmp_path):
    """Found by `make fuzz`: the rows were read, and had a schema of other columns."""
    path = tmp_path / "a.csv"
    path.write_bytes(f"{names}\n0,1,0,1\n1,1,0,1\n".encode(errors="surrogateescape"))
    assert refusal(path).startswith(f"{path}, line ")


@pytest.mark.parametrize("cut", ["(", ")", "'", ","])
def test_a_damaged_header_of_an_array_is_one_sentence(cut, tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.eye(3, dtype=np.uint8))
    content = path.read_bytes()
    path.write_bytes(content.replace(cut.encode(), b"[", 1))
    assert refusal(path) == UNREADABLE.format(path=path)
    path.write_bytes(content[:10] + b"((((" * 16 + content[74:])
    assert refusal(path) == UNREADABLE.format(path=path)


def test_damaged_text_in_a_parquet_file_is_one_sentence(tmp_path):
    """Found by `make fuzz`: the text was decoded long after the file was read."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"s": ["aXYZ", "b"]}), path, compression="none")
    path.write_bytes(path.read_bytes().replace(b"aXYZ", b"a\xaaYZ"))
    assert refusal(path).startswith(f"{path} cannot be read as a .parquet file (")
