import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.tables import tables
from wakesleep.data import PackedBits
from wakesleep.data import bits as bits_module
from wakesleep.errors import DataError


@settings(deadline=None)
@given(tables, st.sampled_from([np.uint8, bool, np.float32, np.int64]))
def test_pack_and_unpack_are_inverse(table, dtype):
    bits = PackedBits.pack(table.astype(dtype))
    assert bits.shape == table.shape
    assert bits.rows.shape == (len(table), -(-table.shape[1] // 8))
    np.testing.assert_array_equal(np.asarray(bits), table)
    assert np.asarray(bits).dtype == np.uint8


@settings(deadline=None)
@given(tables, st.data())
def test_rows_come_back_for_every_kind_of_index(table, data):
    bits = PackedBits.pack(table)
    row = st.integers(-len(table), len(table) - 1)
    number, part = data.draw(row), data.draw(st.slices(len(table)))
    indices = np.array(data.draw(st.lists(row, max_size=5)), dtype=int)
    np.testing.assert_array_equal(bits[number], table[number])
    np.testing.assert_array_equal(bits[part], table[part])
    np.testing.assert_array_equal(bits[indices], table[indices])
    np.testing.assert_array_equal(bits.take(indices)[:], table[indices])


@settings(deadline=None)
@given(tables, st.integers(1, 40))
def test_blocks_of_any_size_change_nothing(table, cells):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bits_module, "BLOCK_CELLS", cells)
        bits = PackedBits.pack(table)
        np.testing.assert_array_equal(bits[:], table)
        np.testing.assert_allclose(bits.mean(), table.mean(axis=0))
        np.testing.assert_allclose(
            bits.smoothed_mean(), (table.sum(axis=0) + 1.0) / (len(table) + 2)
        )


def test_the_layout_is_that_of_packbits():
    table = np.array([[1, 0, 0, 0, 0, 0, 0, 1, 1], [0, 1, 0, 0, 0, 0, 0, 0, 0]])
    np.testing.assert_array_equal(PackedBits.pack(table).rows, [[0b10000001, 128], [64, 0]])


def test_no_rows():
    bits = PackedBits.pack(np.zeros((0, 11)))
    assert len(bits) == 0
    assert bits[:].shape == (0, 11)
    np.testing.assert_array_equal(bits.smoothed_mean(), np.full(11, 0.5))
    with pytest.raises(DataError, match="a table without rows has no mean"):
        bits.mean()


def test_a_memory_map_is_read_in_place(tmp_path):
    table = np.eye(9, dtype=np.uint8)
    np.save(tmp_path / "rows.npy", np.packbits(table, axis=1))
    bits = PackedBits(np.load(tmp_path / "rows.npy", mmap_mode="r"), 9)
    assert isinstance(bits.rows, np.memmap)
    np.testing.assert_array_equal(bits[3:5], table[3:5])


def test_rows_cannot_be_changed_through_it_and_the_source_stays_writable():
    source = np.zeros((2, 1), dtype=np.uint8)
    bits = PackedBits(source, 8)
    with pytest.raises(ValueError, match="read-only"):
        bits.rows[0] = 1
    source[0] = 128
    assert bits[0].tolist() == [1, 0, 0, 0, 0, 0, 0, 0]


def test_an_array_asked_for_without_a_copy_is_refused():
    bits = PackedBits.pack(np.eye(3))
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(bits, copy=False)
    assert np.asarray(bits, dtype=np.float32).dtype == np.float32


def test_an_index_of_columns_is_refused():
    with pytest.raises(TypeError, match="rows alone"):
        PackedBits.pack(np.eye(3))[:, 0]


def test_rows_of_the_wrong_width_are_refused():
    with pytest.raises(DataError, match="9 packed columns need uint8 rows of 2 bytes"):
        PackedBits(np.zeros((4, 1), dtype=np.uint8), 9)
