import jax.numpy as jnp
import numpy as np
import pytest
from scipy import sparse

from wakesleep.data import PackedBits, as_bits, check_width
from wakesleep.errors import DataError

TABLE = [[0, 1, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    "make",
    [list, np.array, np.float64, np.bool_, jnp.asarray, sparse.csr_array, sparse.dia_matrix],
)
def test_all_kinds_of_tables(make):
    assert as_bits(make(TABLE)).__array__().tolist() == TABLE


def test_packed_bits_pass_through():
    bits = PackedBits.pack(np.array(TABLE))
    assert as_bits(bits) is bits


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([0, 1], "votes has 1 dimension, shape (2,), but it must have 2: rows and columns"),
        ([[0, 1], [1]], "votes is not a table: every row must have the same number of values"),
        (np.zeros((0, 2)), "votes has no rows, but it must have at least one"),
        ([[], []], "votes has no columns, but it must have at least one"),
        (
            np.array([[0, None]]),
            "votes holds values of type object, but it must be a numeric array of 0 and 1",
        ),
        (
            [[1j]],
            "votes holds values of type complex128, but it must be a numeric array of 0 and 1",
        ),
        (
            [[0, 1], [np.nan, 2]],
            "votes, row 2, column 1: found nan, "
            "but every value must be 0 or 1 (rows and columns count from 1)",
        ),
        (
            sparse.coo_array([[0, 1], [0, 255]]),
            "votes, row 2, column 2: found 255, "
            "but every value must be 0 or 1 (rows and columns count from 1)",
        ),
        (
            sparse.coo_array(np.array([0, 1])),
            "votes has 1 dimension, shape (2,), but it must have 2: rows and columns",
        ),
    ],
)
def test_errors(values, sentence):
    with pytest.raises(DataError) as caught:
        as_bits(values, "votes")
    assert str(caught.value) == sentence


def test_the_row_is_right_beyond_the_first_block(monkeypatch):
    monkeypatch.setattr("wakesleep.data.bits.BLOCK_CELLS", 4)
    values = np.zeros((9, 2))
    values[7, 1] = 3
    with pytest.raises(DataError, match="row 8, column 2: found 3"):
        as_bits(values)


def test_width_against_a_model():
    check_width(as_bits(TABLE), 3, "votes.csv")
    for bits in (as_bits(TABLE), np.array(TABLE)):
        with pytest.raises(DataError) as caught:
            check_width(bits, 4, "votes.csv")
        assert str(caught.value) == "votes.csv has 3 columns, but the model was made for 4"
