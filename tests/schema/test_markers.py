"""Spellings of a missing cell: the usual ones, further ones, and words that look like one."""

import numpy as np
import pandas as pd
import pytest

from wakesleep.cli import main
from wakesleep.errors import DataError
from wakesleep.schema import Schema, infer_schema, read_frame
from wakesleep.schema.markers import MARKERS, further_markers


def column(cells, **reading):
    frame = read_frame({"x": [str(cell) for cell in cells], "y": list("ab") * 30}, **reading)
    return infer_schema(frame).columns[0]


@pytest.mark.parametrize("marker", ["n/a", "#NA", "-nan"])
def test_what_pandas_takes_for_missing_is_missing(marker):
    found = column([marker if i % 6 == 0 else i % 20 for i in range(60)])
    assert (found.kind, found.missing) == ("numeric", pytest.approx(1 / 6))


def test_further_markers_come_beside_the_usual_ones_and_are_kept_by_the_schema():
    cells = ["-99" if i % 6 == 0 else "" if i % 6 == 1 else str(i % 20) for i in range(60)]
    frame = read_frame({"x": cells}, missing_markers=further_markers("-99,not asked"))
    schema = infer_schema(frame)
    assert schema.columns[0].missing == pytest.approx(1 / 3)
    again = Schema.from_dict(schema.to_dict())
    # A table that is read later has the same gaps, in any form.
    for table in ({"x": ["-99", "", "5"]}, pd.DataFrame({"x": [-99.0, np.nan, 5.0]})):
        assert again.encode(table).observed[:, 0].tolist() == [False, False, True]
    assert infer_schema({"x": cells}).markers is None
    assert infer_schema({"x": cells}).columns[0].missing == pytest.approx(1 / 6)


def test_a_marker_with_a_comma_stands_in_quotes():
    assert further_markers('"no, thanks",-9') == [*MARKERS, "no, thanks", "-9"]


@pytest.mark.parametrize("values", [60, 20], ids=["left out", "levels"])
def test_one_word_among_many_numbers_is_said_with_what_makes_it_missing(values):
    cells = ["not asked" if i % 6 == 0 else i % values for i in range(60)]
    found = column(cells)
    assert found.kind in ("text", "categorical")
    assert "numbers but for 'not asked': '--missing-markers=not asked'" in found.note
    assert column(cells, missing_markers=["not asked"]).kind != found.kind


def test_few_numbers_and_a_word_are_levels_without_a_word():
    assert column([("0", "1", "2", "3+")[i % 4] for i in range(60)]).note == ""


def test_a_stray_word_can_be_taken_for_missing():
    with pytest.raises(DataError, match=r"take it for missing \(--missing-markers=unknown\)"):
        column(["unknown", *range(59)])


def test_the_command_takes_markers(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    rows = "".join(f"{-99 if i % 4 == 0 else i % 30},{'ab'[i % 2]}\n" for i in range(60))
    (tmp_path / "table.csv").write_text("age,answer\n" + rows)
    assert main(["schema", str(tmp_path / "table.csv"), "--missing-markers=-99"]) == 0
    assert "25.0%" in capsys.readouterr().out
