"""Any table that a schema accepts goes to bits and back unchanged, up to bins."""

import json

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from wakesleep.errors import DataError
from wakesleep.schema import (
    Schema,
    SchemaOptions,
    impute_missing,
    infer_schema,
    read_frame,
    to_native,
)

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=6).map(
    str.strip
)

NAMES = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=4)


def columns(rows):
    """A column of one of the kinds of values that tables have."""
    values = st.one_of(
        st.just(st.integers(-20, 20)),
        st.just(st.integers(-(10**9), 10**9)),
        st.just(st.floats(-1e6, 1e6, allow_subnormal=False)),
        st.just(st.integers(-500, 500).map(lambda n: n / 10)),
        st.just(st.booleans()),
        st.just(st.dates()),
        st.just(st.datetimes()),
        st.lists(WORDS, min_size=1, max_size=5).map(st.sampled_from),
        st.just(WORDS),
    )
    gaps = st.booleans()
    return st.tuples(values, gaps).flatmap(
        lambda both: st.lists(
            st.one_of(st.none(), both[0]) if both[1] else both[0], min_size=rows, max_size=rows
        )
    )


TABLES = st.integers(2, 25).flatmap(
    lambda rows: st.dictionaries(NAMES, columns(rows), min_size=1, max_size=4)
)


def accepted(table, **options):
    """A schema, where there is something to make one of."""
    try:
        return infer_schema(table, options=SchemaOptions(**options))
    except DataError:
        assume(False)


def assert_same_up_to_bins(schema, before, after):
    for column in schema.modelled:
        one, other = before[column.name], after[column.name]
        np.testing.assert_array_equal(one.missing, other.missing)
        if column.kind in ("binary", "categorical") and not getattr(column, "pooled", 0):
            there = ~one.missing
            if other.storage == "text":
                assert [str(v) for v in one.values[there]] == other.values[there].tolist()
            elif one.storage != "text":
                np.testing.assert_array_equal(one.values[there], other.values[there])


@settings(max_examples=150, deadline=None)
@given(TABLES, st.sampled_from(["cell", "level"]), st.sampled_from([3, 100]), st.integers(0, 9))
def test_a_table_goes_to_bits_and_back(table, missing, levels, seed):
    frame = read_frame(table)
    schema = accepted(frame, missing=missing, max_levels=levels)
    encoded = schema.encode(frame)
    assert encoded.bits.shape == (len(frame), schema.units)
    assert encoded.observed.shape == (len(frame), len(schema.groups))
    assert np.isfinite(schema.log_measure(encoded)).all()
    back = schema.decode(encoded.bits, seed, encoded.observed)
    assert_same_up_to_bins(schema, frame, back)
    np.testing.assert_array_equal(schema.encode(back).codes, encoded.codes)
    np.testing.assert_array_equal(schema.codes(encoded.bits, encoded.observed), encoded.codes)


@settings(max_examples=100, deadline=None)
@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_columns_and_rows_does_not_matter(table, random):
    schema = accepted(table)
    names, rows = list(table), list(range(len(next(iter(table.values())))))
    random.shuffle(names)
    random.shuffle(rows)
    turned = {name: [table[name][row] for row in rows] for name in names}
    again = infer_schema(turned)
    by_name = {column["name"]: column for column in again.to_dict()["columns"]}
    for column in schema.to_dict()["columns"]:
        # What is left out says so in words that quote counts, not rows.
        assert by_name[column["name"]] == column
    np.testing.assert_array_equal(schema.encode(turned).bits, schema.encode(table).bits[rows])


@settings(max_examples=100, deadline=None)
@given(TABLES, st.sampled_from(["cell", "level"]))
def test_a_schema_survives_json(table, missing):
    schema = accepted(table, missing=missing)
    text = json.dumps(schema.to_dict(), allow_nan=False)
    again = Schema.from_dict(json.loads(text))
    assert again.to_dict() == schema.to_dict()
    before, after = schema.encode(table), again.encode(table)
    np.testing.assert_array_equal(before.bits, after.bits)
    np.testing.assert_array_equal(schema.log_measure(before), again.log_measure(after))
    one, other = (made.decode(before.bits, 1, before.observed) for made in (schema, again))
    assert to_native(one) == to_native(other)


@settings(max_examples=60, deadline=None)
@given(TABLES)
@example(table={"0|": [0, 1]})
def test_a_written_table_reads_as_the_same_rows(tmp_path_factory, table):
    """What goes out as text has the bins that it had, but for columns whose text says less."""
    from wakesleep.schema import write_frame

    frame = read_frame({f"c{name}c": values for name, values in table.items()})
    schema = accepted(frame)
    encoded = schema.encode(frame)
    back = schema.decode(encoded.bits, 0, encoded.observed)
    path = tmp_path_factory.mktemp("written") / "table.csv"
    write_frame(back, path)
    np.testing.assert_array_equal(schema.encode(path).codes, encoded.codes)


@settings(max_examples=60, deadline=None)
@given(TABLES, st.integers(0, 99))
def test_filling_leaves_what_was_there(table, seed):
    frame = read_frame(table)
    schema = accepted(frame)
    encoded = schema.encode(frame)
    full = np.where(encoded.observed, encoded.codes, 0).astype(np.int32)
    drawn = schema.decode(type(encoded)(full, encoded.within, encoded.states).bits, seed)
    filled = impute_missing(frame, drawn)
    for cells in frame.cells:
        there = ~cells.missing
        assert (filled[cells.name].values[there] == cells.values[there]).all()
        if cells.name in schema.names:
            assert not filled[cells.name].missing.any()
            np.testing.assert_array_equal(
                schema.encode(filled).codes[:, schema.names.index(cells.name)],
                full[:, schema.names.index(cells.name)],
            )


def test_blocks_are_the_bits():
    table = {"x": ["a", "b", None, "c"] * 5, "y": [0.5, 1.5, 2.5, 9.5] * 5}
    encoded = infer_schema(table).encode(table)
    np.testing.assert_array_equal(np.concatenate(list(encoded.blocks(3))), encoded.bits)
    assert len(encoded) == 20


def test_a_seed_decides_the_draws():
    table = {"x": np.random.default_rng(0).normal(size=30).tolist()}
    schema = infer_schema(table)
    bits = schema.encode(table).bits
    one, same, other = (schema.decode(bits, seed)["x"].values for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).all()


@pytest.mark.parametrize("missing", ["cell", "level"])
def test_a_row_with_all_cells_missing_has_no_bits(missing):
    table = {"x": ["a", "b", "c", None], "y": [1.5, 2.5, 3.5, None]}
    encoded = infer_schema(table, options=SchemaOptions(missing=missing)).encode(table)
    assert encoded.observed[3].any() == (missing == "level")
    assert encoded.bits[3].sum() == (2 if missing == "level" else 0)
