"""Tables with missing entries, in every spelling, and what is refused."""

import numpy as np
import pytest

from wakesleep.data.partial_files import read_partial
from wakesleep.errors import DataError

BITS = [[0, 1, 0], [1, 0, 1]]
MISSING = [[False, True, False], [False, False, True]]


def expected(bits, missing):
    return np.where(missing, 0, bits)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "0,,0\n1,0,?\n"),
        ("b.csv", "first,second,third\n0,NaN,0.0\n1.0,0,nan\n"),
        ("c.tsv", "0\t\t0\n1\t0\t\n"),
        ("d.data", "0, ? ,0\n\n1,0,NA\n"),
        ("e.amat", "0 ? 0\n1 0 nan\n"),
        ("f.csv", '"0","","0"\r\n"1","0","?"\r\n'),
    ],
)
def test_every_spelling_of_a_missing_cell_is_read(name, text, tmp_path):
    (tmp_path / name).write_bytes(text.encode())
    found = read_partial(tmp_path / name)
    assert np.array_equal(found.missing, MISSING)
    assert np.array_equal(found.bits, expected(BITS, MISSING))


def test_a_first_row_of_missing_cells_is_no_header(tmp_path):
    (tmp_path / "a.csv").write_text("?,,nan\n0,1,1\n")
    assert read_partial(tmp_path / "a.csv").missing.tolist() == [[True] * 3, [False] * 3]


def test_nan_is_missing_in_npy(tmp_path):
    np.save(tmp_path / "a.npy", np.where(MISSING, np.nan, BITS))
    found = read_partial(tmp_path / "a.npy")
    assert np.array_equal(found.missing, MISSING)
    assert np.array_equal(found.bits, expected(BITS, MISSING))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"0,1\n0,x\n", "line 2, column 2: found 'x'"),
        ("b.csv", b"0,1\n0,2\n", "row 2, column 2: found 2"),
        ("c.csv", b"0,1\n0\n", "line 2: found 1 values"),
        ("d.csv", b"\n", "no rows"),
        ("e.npy", b"junk", "cannot be read"),
        ("f.txt", b"0 1", "must end in"),
    ],
)
def test_what_is_no_such_table_is_refused_in_one_sentence(name, content, said, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_partial(tmp_path / name)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DataError, match="no file"):
        read_partial(tmp_path / "nosuch.csv")


def test_objects_are_never_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[None]], object), allow_pickle=True)
    with pytest.raises(DataError, match="Python objects"):
        read_partial(tmp_path / "a.npy")
