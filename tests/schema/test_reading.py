"""Text files in their many spellings."""

import gzip
import subprocess
import sys

import numpy as np
import pytest

from wakesleep.errors import DataError, WakesleepError
from wakesleep.schema import columnar_files, read_frame, to_native, write_frame
from wakesleep.schema.frame import quoted


def read(tmp_path, text, name="table.csv", **options):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_frame(tmp_path / name, **options)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", b"x,y\n1,a\n2,b\n"),
        ("a.csv", b"x;y\n1;a\n2;b\n"),
        ("a.csv", b"x\ty\n1\ta\n2\tb\n"),
        ("a.csv", b"x|y\n1|a\n2|b\n"),
        ("a.tsv", b"x\ty\n1\ta\n2\tb"),
        ("a.CSV", b"\xef\xbb\xbfx,y\r\n1,a\r\n2,b\r\n"),
        ("a.csv", b"x , y\n 1 ,a\n\n2, b \n\n"),
        ("a.csv", b'"x","y"\n"1","a"\n"2","b"\n'),
        ("a.csv", b"x,y,\n1,a,\n2,b,\n"),
        ("a.csv", b"\xef\xbb\xbfsep=;\r\nx;y\r\n1;a\r\n2;b\r\n"),
        ("a.csv", b'"sep=|"\nx|y\n1|a\n2|b\n'),
        ("a.csv.gz", gzip.compress(b"x,y\n1,a\n2,b\n", mtime=0)),
        ("a.tsv.gz", gzip.compress(b"x\ty\n1\ta\n2\tb\n", mtime=0)),
    ],
)
def test_the_same_table_in_many_spellings(tmp_path, name, content):
    frame = read(tmp_path, content, name)
    assert to_native(frame) == [["x", "y"], ["1", "a"], ["2", "b"]]
    assert not any(cells.missing.any() for cells in frame.cells)


def test_commas_inside_cells_do_not_hide_the_semicolon(tmp_path):
    frame = read(tmp_path, "a;b\n1,5;x, y\n2,5;z\n")
    assert frame.names == ("a", "b")
    assert frame["a"].values.tolist() == ["1,5", "2,5"]


def test_a_quoted_cell_may_have_separators_quotes_and_lines(tmp_path):
    frame = read(tmp_path, 'a,b\n"x, ""y""\nz",1\nw,2\n')
    assert frame["a"].values.tolist() == ['x, "y"\nz', "w"]
    assert frame.lines.tolist() == [2, 4]
    assert frame.place(1, "a").endswith("table.csv, line 4, column 'a'")


@pytest.mark.parametrize("marker", ["", "NA", "NaN", "nan", "null", "None", "N/A", "?"])
def test_missing_cells_by_their_usual_names(tmp_path, marker):
    frame = read(tmp_path, f"a,b\n1,x\n{marker},y\n3,{marker}\n")
    assert frame["a"].missing.tolist() == [False, True, False]
    assert frame["b"].missing.tolist() == [False, False, True]


def test_missing_markers_can_be_set(tmp_path):
    frame = read(tmp_path, "a,b\n1,NA\n-9,x\n", missing_markers=["-9"])
    assert frame["a"].missing.tolist() == [False, True]
    assert not frame["b"].missing.any()


def test_a_question_mark_among_signs_is_a_sign(tmp_path):
    frame = read(tmp_path, "a,b\n?,1\n!,2\n")
    assert not frame["a"].missing.any()


def test_without_a_header_columns_are_numbered(tmp_path):
    frame = read(tmp_path, "1,2\n3,4\n", header=False)
    assert frame.names == ("column_1", "column_2")
    assert len(frame) == 2
    assert read(tmp_path, "1,2\n3,4\n", header=True).names == ("1", "2")


def test_another_encoding_can_be_named(tmp_path):
    text = "name\nJosé\nZoë\n".encode("latin-1")
    assert read(tmp_path, text, encoding="latin-1")["name"].values.tolist() == ["José", "Zoë"]
    with pytest.raises(DataError, match="no encoding is called 'klingon'"):
        read(tmp_path, text, encoding="klingon")


def test_one_column_is_read_with_a_note(tmp_path):
    frame = read(tmp_path, "a\n1\n2\n")
    assert "one column only" in frame.notes[0]


def test_rs_row_names_have_an_empty_name(tmp_path):
    frame = read(tmp_path, '"","x"\n"1",2\n"2",3\n')
    assert frame.names == ("", "x")


@pytest.mark.parametrize(
    "name", ["b.csv", "b.tsv", "b.csv.gz", "b.tsv.gz", "b.parquet", "b.feather"]
)
def test_what_is_written_is_read_again(tmp_path, name):
    frame = read(tmp_path, 'a,b\n1,"x, y"\n,z\n3,\n')
    write_frame(frame, tmp_path / name)
    again = read_frame(tmp_path / name)
    assert again.names == frame.names
    for one, other in zip(frame.cells, again.cells, strict=True):
        np.testing.assert_array_equal(one.missing, other.missing)
        np.testing.assert_array_equal(one.values[~one.missing], other.values[~one.missing])


def test_without_pyarrow_one_sentence_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(WakesleepError, match=r"wakesleep\[tables\]"):
        columnar_files.read_columnar(tmp_path / "a.parquet")


def test_text_files_need_neither_jax_nor_a_frame_library(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,b\n3,a\n")
    code = (
        "import sys\nfrom wakesleep.schema import infer_schema\n"
        f"infer_schema({str(tmp_path / 'a.csv')!r})\n"
        "sys.exit(any(name in sys.modules for name in ('jax', 'pandas', 'polars', 'pyarrow')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_is_no_table_is_refused():
    for table, part in [
        (3, "cannot be made of int"),
        ([1, 2], "cannot be made of list"),
        (np.zeros(3), "1 dimensions"),
        (np.zeros((0, 2)), "no rows"),
        ({}, "no columns"),
        ({"a": [1, 2], "b": [1]}, "equally long"),
        (np.array([[1.0, np.inf]]), "row 1, column 'x1' is infinite"),
    ]:
        with pytest.raises(DataError, match=part):
            read_frame(table)


def test_long_values_are_quoted_short():
    assert len(quoted("x" * 500)) < 50
