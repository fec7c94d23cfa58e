"""A folder of wrong files: each gets one sentence that names the place and a way out."""

import gzip
import io
import zipfile

import pytest

from wakesleep.errors import UsageError, WakesleepError
from wakesleep.schema import infer_schema, load_choices, read_frame

GOOD = "name,age\n" + "".join(f"p{i % 3},{20 + i % 7}\n" for i in range(20))


def archive():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("a.txt", "a")
    return content.getvalue()


NUMBERS = "".join(f"{value}\n" for value in range(20, 60, 2))

WRONG = [
    # name, content, parts of the sentence
    ("empty.csv", b"", ["empty.csv is empty", "a header and at least one row"]),
    ("blank.csv", b"\n\n  \n", ["is empty"]),
    ("mark.csv", b"\xef\xbb\xbf", ["is empty"]),
    ("header.csv", b"a,b\n", ["has a header and no rows"]),
    ("no-names.csv", b",,\n1,2,3\n", ["line 1", "no name"]),
    ("gap-in-names.csv", b"a,,c\n1,2,3\n", ["line 1", "column 2 has no name"]),
    ("last-name.csv", b"a,b,\n1,2,3\n", ["line 1", "column 3 has no name"]),
    ("numbers.csv", b"1,2,3\n4,5,6\n", ["numbers and no names", "--no-header"]),
    ("twice.csv", b"age,age\n1,2\n", ["line 1", "columns 1 and 2", "'age'", "rename"]),
    ("twice-spaced.csv", b"age,x, age\n1,2,3\n", ["columns 1 and 3", "'age'"]),
    ("short.csv", b"a,b,c\n1,2,3\n4,5\n", ["line 3 has 2 cells", "'c'", "empty cells"]),
    ("long.csv", b"a,b\n1,2\n3,4,5\n", ["line 3 has 3 cells", "2 columns", "quotes"]),
    ("long-first.csv", b"a,b\n1,2,3\n3,4\n", ["line 2 has 3 cells"]),
    ("one-cell.csv", b"a,b\n1,2\n3\n", ["line 3 has 1 cell,"]),
    ("after-blank.csv", b"a,b\n1,2\n\n3\n", ["line 4 has 1 cell"]),
    ("long-cell.csv", b'a,b\n"x\ny",2\n3\n', ["line 4 has 1 cell"]),
    ("ragged.tsv", b"a\tb\n1\t2\n3\n", ["ragged.tsv, line 3"]),
    ("ragged-semicolon.csv", b"a;b;c\n1;2;3\n1;2\n", ["line 3 has 2 cells", "'c'"]),
    ("open-quote.csv", b'a,b\n1,"2\n3,4\n', ["line 2", "quoted cell is not closed"]),
    ("odd-quote.csv", b'a,b\n1,"2"x\n3,4\n', ["line 2", "quoted cell is not closed"]),
    (
        "latin.csv",
        "name,age\nJosé,3\n".encode("latin-1"),
        ["line 2", "0xe9", "position 12", "UTF-8"],
    ),
    (
        "mixed.csv",
        "a\né\n".encode() + "é\n".encode("latin-1"),
        ["line 3", "0xe9", "position 5", "latin-1"],
    ),
    ("utf16.csv", "a,b\n1,2\n".encode("utf-16"), ["UTF-16", "UTF-8"]),
    ("nul.csv", b"a,b\n1,\x002\n", ["line 2", "NUL"]),
    ("book.csv", archive(), ["Excel workbook", "save it as CSV"]),
    ("picture.csv", b"\x89PNG\r\n", ["is a picture"]),
    ("page.csv", b"%PDF-1.7", ["PDF"]),
    ("renamed.csv", b"PAR1....", ["Parquet"]),
    ("plain.csv.gz", b"a,b\n1,2\n", ["cannot be unpacked", "gzip"]),
    ("cut.csv.gz", gzip.compress(b"a,b\n1,2\n" * 100)[:30], ["cannot be unpacked"]),
    ("empty.csv.gz", gzip.compress(b""), ["is empty"]),
    ("short.tsv.gz", gzip.compress(b"a\tb\n1\n"), ["short.tsv.gz, line 2"]),
    ("bad.parquet", b"PAR1 no", ["cannot be read as a .parquet file", ".csv"]),
    ("bad.feather", b"nothing", ["cannot be read as a .feather file"]),
    ("table.xlsx", b"", ["valid extensions", ".csv"]),
    ("table", b"a,b\n1,2\n", ["valid extensions"]),
    ("one-row.csv", b"a,b\n1,2\n", ["one row only", "at least two"]),
    (
        "stray.csv",
        ("age\n" + NUMBERS + "forty\n").encode(),
        ["line 22", "'age'", "'forty' is no number"],
    ),
    ("stray-way.csv", ("age\n" + NUMBERS + "forty\n").encode(), ["--column age=categorical"]),
    (
        "stray-early.csv",
        (b"x\n31\nforty\n42\n57\n"),
        ["line 3", "'forty'", "3 of the column's 4"],
    ),
    ("infinite.csv", ("age\n" + NUMBERS + "inf\n").encode(), ["'inf' is no number"]),
    ("two-digit-groups.csv", ("x\n" + NUMBERS + '"12,34"\n').encode(), ["'12,34' is no number"]),
    ("underscore.csv", ("x\n" + NUMBERS + "1_000\n").encode(), ["'1_000' is no number"]),
    (
        "stray-date.csv",
        ("d\n" + "".join(f"2021-03-{day:02d}\n" for day in range(1, 31)) + "unknown\n").encode(),
        ["line 32", "'unknown' is no date", "%Y-%m-%d"],
    ),
    (
        "no-such-day.csv",
        ("d\n" + "".join(f"2021-02-{day:02d}\n" for day in range(1, 30)) + "2021-03-01\n").encode(),
        ["line 30", "'2021-02-29' is no date"],
    ),
    ("ids.csv", b"id\n" + b"".join(b"%d\n" % i for i in range(30)), ["no column", "--column id="]),
    (
        "constant.csv",
        b"a,b\n1,x\n1,x\n1,x\n",
        ["no column that a model could be made of", "constant"],
    ),
    ("all-missing.csv", b"a,b\n,NA\n,\n", ["no column", "empty"]),
    (
        "comments.csv",
        b"# made by a tool\na,b\n1,2\n",
        ["line 2 has 2 cells", "'# made by a tool'", "a title", "take its line out"],
    ),
    ("late-twice.csv", b"\n\nage,age\n1,2\n", ["line 3: columns 1 and 2", "'age'"]),
    ("declared-twice.csv", b"sep=;\nage;age\n1;2\n", ["line 2: columns 1 and 2", "'age'"]),
    (
        "blanks-between.csv",
        b"name age\n" + b"".join(b"p%d %d\n" % (i % 3, i) for i in range(40)),
        ["if there should be more, put commas, semicolons or tabs", "--column 'name age="],
    ),
]


@pytest.mark.parametrize(("name", "content", "parts"), WRONG, ids=[one[0] for one in WRONG])
def test_a_wrong_file_gets_one_sentence(tmp_path, name, content, parts):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(WakesleepError) as caught:
        infer_schema(read_frame(tmp_path / name))
    sentence = str(caught.value)
    assert name in sentence
    assert "\n" not in sentence
    for part in parts:
        assert part in sentence


def test_the_folder_has_at_least_forty():
    assert len(WRONG) >= 40


def test_a_file_that_is_not_there_and_a_folder(tmp_path):
    with pytest.raises(WakesleepError, match="there is no file"):
        read_frame(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(WakesleepError, match="is not a file"):
        read_frame(tmp_path / "folder.csv")


WRONG_CHOICES = [
    (["age"], "NAME=KIND"),
    (["age=number"], "must be one of binary, categorical"),
    (["ages=numeric"], "did you mean 'age'"),
    (["name=numeric"], "line 2, column 'name': 'p0' is no number"),
    (["name=binary"], "3 levels, not two: use --column name=categorical"),
    (["name=ordinal"], "needs its levels in order"),
    (["name=ordinal:p0,p1"], "line 4, column 'name': 'p2' is none of the levels"),
    (["name=ordinal:p0,p1,p0"], "'p0' is there twice"),
    (["name=ordinal:p0"], "two or more"),
    (["age=numeric:1,2"], "only binary, categorical and ordinal columns have levels"),
    (["name=date"], "'p0' is no date"),
    (["age=date:nonsense"], "must be one of strptime"),
    (["name=drop", "age=drop"], "no column that a model could be made of"),
    ({"age": 3}, "must be a kind"),
    ({"age": {"kind": "numeric", "bin": 3}}, "no setting 'bin'"),
    ({"age": {"kind": "numeric", "bins": 1}}, "bins must be 2 or more"),
    ({"age": {"kind": "numeric", "missing": "yes"}}, "missing must be one of cell, level"),
]


@pytest.mark.parametrize(("choices", "part"), WRONG_CHOICES)
def test_a_wrong_choice_gets_one_sentence(tmp_path, choices, part):
    (tmp_path / "good.csv").write_text(GOOD)
    with pytest.raises(UsageError) as caught:
        infer_schema(read_frame(tmp_path / "good.csv"), choices)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


WRONG_TOML = [
    ("columns = 3", "must be a table"),
    ("[columns]\nage = 'number'", "schema.toml, column 'age'"),
    ("[column]\nage = 'numeric'", "[columns] and [options]"),
    ("[columns\n", "not a TOML file"),
    ("[columns]\ngrade = {kind = 'ordinal'}", "needs its levels"),
]


@pytest.mark.parametrize(("text", "part"), WRONG_TOML)
def test_a_wrong_toml_file_gets_one_sentence(tmp_path, text, part):
    (tmp_path / "schema.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        load_choices(tmp_path / "schema.toml")
    assert "schema.toml" in str(caught.value)
    assert part in str(caught.value)
