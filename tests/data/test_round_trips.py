import tempfile
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from tests.data.tables import SEPARATORS, WRITERS, as_text, tables, write_text
from wakesleep.data import load_dataset, text_files
from wakesleep.errors import DataError

few = settings(deadline=None, max_examples=40)


@pytest.mark.parametrize("how", WRITERS)
@few
@given(table=tables)
def test_any_binary_table_comes_back(how, table):
    extension, write = WRITERS[how]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{extension}"
        write(path, table)
        data = load_dataset(path, split=None)
    np.testing.assert_array_equal(data.train[:], table)
    assert (len(data.valid), len(data.test), data.name) == (0, 0, "table")


@pytest.mark.parametrize("extension", SEPARATORS)
@few
@given(
    table=tables.filter(lambda table: table.shape[1] > 1),
    wrong=st.sampled_from(["2", "-1", "0.5", "nan", "inf", "yes", "1e-300", "0x1", "é"]),
    data=st.data(),
)
def test_a_wrong_cell_of_a_text_file_is_named(extension, table, wrong, data):
    row, column = (data.draw(st.integers(0, size - 1)) for size in table.shape)
    cells = as_text(table)
    cells[row][column] = wrong
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{extension}"
        write_text(path, cells, SEPARATORS[extension])
        with pytest.raises(DataError) as caught:
            load_dataset(path)
    start = f"{path}, line {row + 1}, column {column + 1}: found "
    assert str(caught.value).startswith(start)
    assert wrong in str(caught.value).removeprefix(start)


@pytest.mark.parametrize("extension", [".npy", ".npz", "sparse.npz"])
@few
@given(table=tables, wrong=st.sampled_from([2.0, -1.0, 0.5, np.nan, np.inf]), data=st.data())
def test_a_wrong_cell_of_an_array_is_named(extension, table, wrong, data):
    row, column = (data.draw(st.integers(0, size - 1)) for size in table.shape)
    values = table.astype(float)
    values[row, column] = wrong
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{extension}"
        if extension == "sparse.npz":
            sparse.save_npz(path, sparse.csr_matrix(values))
        else:
            {".npy": np.save, ".npz": np.savez}[extension](path, values)
        what = f"{path}, array 'arr_0'" if extension == ".npz" else str(path)
        with pytest.raises(DataError) as caught:
            load_dataset(path)
    assert str(caught.value) == (
        f"{what}, row {row + 1}, column {column + 1}: found {wrong}, "
        "but every value must be 0 or 1 (rows and columns count from 1)"
    )


@few
@given(table=tables, cells=st.integers(1, 60))
def test_text_read_in_blocks_of_any_size(table, cells):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_files, "BLOCK_CELLS", cells)
        path = Path(folder) / "table.amat"
        write_text(path, as_text(table), "  ")
        np.testing.assert_array_equal(load_dataset(path, split=None).train[:], table)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n0,1\n", [[0, 1]]),
        ('"a","b"\n"0","1"\n', [[0, 1]]),
        (",a,b\n0,0,1\n", [[0, 0, 1]]),
        ("\ufeffa,b\n1,1\n", [[1, 1]]),
        ("\ufeff1,0\n1,1\n", [[1, 0], [1, 1]]),
        ("\n\na,b\r\n\r\n+1.0,-0.0\r\n", [[1, 0]]),
        ("1,0", [[1, 0]]),
    ],
)
def test_spellings_of_a_csv(tmp_path, text, expected):
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    data = load_dataset(tmp_path / "table.csv", split=None)
    assert data.train[:].tolist() == expected
