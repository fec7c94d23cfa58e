"""Every row once, in its place, whatever the number of rows and the size of a block."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wakesleep.inference.blocks import Blocks

TOTALS, SIZES = st.integers(1, 60), st.integers(1, 70)


@settings(deadline=None)
@given(TOTALS, SIZES)
def test_blocks_are_the_rows_in_order_and_numbered(total, size):
    blocks = list(Blocks(total, size))
    assert np.concatenate([block.rows for block in blocks]).tolist() == list(range(total))
    assert [block.number for block in blocks] == list(range(len(Blocks(total, size))))
    assert all(block.start == block.number * size for block in blocks)
    assert all(len(block) == size for block in blocks[:-1])
    assert 1 <= len(blocks[-1]) <= size


@settings(deadline=None)
@given(TOTALS, SIZES)
def test_a_filled_block_has_one_shape_and_begins_with_its_own_rows(total, size):
    for block in Blocks(total, size):
        assert block.filled.shape == (size,)
        assert np.array_equal(block.filled[: len(block)], block.rows)
        assert set(block.filled) == set(block.rows)


@settings(deadline=None)
@given(TOTALS, SIZES, st.booleans())
def test_results_are_trees_trimmed_and_in_the_rows_order(total, size, filled):
    table = np.random.default_rng(total).normal(size=(total, 3)).astype(np.float32)
    shapes = set()

    def work(block):
        x = table[block.filled if filled else block.rows]
        shapes.add(x.shape)
        numbers = np.full(len(x), block.number)
        return {"doubled": jnp.asarray(2 * x), "parts": (x, numbers)}

    result = Blocks(total, size).map(work)
    assert np.array_equal(result["doubled"], 2 * table)
    assert np.array_equal(result["parts"][0], table)
    assert np.array_equal(result["parts"][1], np.arange(total) // size)
    assert shapes == {(size, 3)} or not filled


@settings(deadline=None)
@given(TOTALS, SIZES)
def test_progress_counts_rows_up_to_all(total, size):
    seen = []
    Blocks(total, size).map(lambda block: block.rows, lambda *now: seen.append(now))
    assert [done for done, _ in seen] == [block.stop for block in Blocks(total, size)]
    assert {all_of_them for _, all_of_them in seen} == {total}


def test_a_block_that_is_not_there_is_an_error():
    for number in (-1, 2):
        with pytest.raises(IndexError):
            Blocks(5, 3)[number]
