"""Draws of numbers that training rows share, and their form on disk."""

import copy
import json

import numpy as np
import pytest

from wakesleep.errors import DataError
from wakesleep.schema import NumberColumn, Schema, infer_schema

ROWS = 2000


def heights() -> dict[str, np.ndarray]:
    """Two thirds whole inches in centimetres, the others anything; ages in fives or not."""
    rng = np.random.default_rng(0)
    inches = np.round(rng.normal(68, 3, ROWS)) * 2.54
    free = np.round(rng.normal(172, 8, ROWS), 2)
    ages = np.where(
        rng.random(ROWS) < 0.5, rng.integers(4, 16, ROWS) * 5, rng.integers(20, 80, ROWS)
    )
    return {"height": np.where(rng.random(ROWS) < 2 / 3, inches.round(2), free), "age": ages}


def is_inches(values: np.ndarray) -> np.ndarray:
    return np.isclose(np.round(values / 2.54) * 2.54, values, atol=0.006)


@pytest.fixture(scope="module")
def schema() -> Schema:
    return infer_schema(heights())


def drawn(schema: Schema, seed: int, **more: object) -> dict[str, np.ndarray]:
    """Rows drawn from the bins of the training rows, which are as many as those."""
    frame = schema.decode(schema.encode(heights()).bits, seed, **more)
    return {one.name: one.values for one in frame.cells}


def test_draws_share_numbers_as_training_rows_do(schema: Schema) -> None:
    real, made = heights(), drawn(schema, 1)
    assert is_inches(real["height"]).mean() == pytest.approx(0.67, abs=0.03)
    assert is_inches(made["height"]).mean() == pytest.approx(
        is_inches(real["height"]).mean(), abs=0.05
    )
    fives = (real["age"] % 5 == 0).mean()
    assert (made["age"] % 5 == 0).mean() == pytest.approx(fives, abs=0.04)


def test_a_number_keeps_its_bin_and_is_not_always_shared(schema: Schema) -> None:
    made = drawn(schema, 2)
    assert (schema.encode(made).codes == schema.encode(heights()).codes).all()
    assert len(np.setdiff1d(made["height"], heights()["height"])) > 100


def test_draws_move_no_further_than_to_numbers_around_them(schema: Schema) -> None:
    plain = Schema.from_dict(without_shared(schema.to_dict()))
    moved = drawn(schema, 5)["height"] - drawn(plain, 5)["height"]
    assert (moved != 0).mean() > 0.1
    assert np.abs(moved).max() <= 2.54


def test_numbers_that_rows_share_by_chance_stay() -> None:
    """A steep density on a grid of hundredths, two rows of a bin on each of its points."""
    rows = {"x": np.random.default_rng(0).exponential(size=1000).round(2)}
    (column,) = infer_schema(rows).modelled
    assert isinstance(column, NumberColumn)
    _, counts = np.unique(rows["x"], return_counts=True)
    assert (counts > 1).sum() > 100
    kept = 0 if column.shared is None else len(column.shared.values)
    assert kept < 0.2 * (counts > 1).sum()


def test_without_chance_numbers_stay_in_the_middle(schema: Schema) -> None:
    plain = Schema.from_dict(without_shared(schema.to_dict()))
    bits = schema.encode(heights()).bits
    for one, other in zip(
        schema.decode(bits, None).cells, plain.decode(bits, None).cells, strict=False
    ):
        assert (one.values == other.values).all()


def test_known_numbers_stay(schema: Schema) -> None:
    known = np.full((ROWS, 2), np.nan)
    known[:, 0] = heights()["height"]
    assert (drawn(schema, 3, known=known)["height"] == heights()["height"]).all()


def test_numbers_that_no_two_rows_share_are_drawn_anywhere() -> None:
    rows = {"x": np.random.default_rng(0).normal(size=300)}
    (column,) = infer_schema(rows).modelled
    assert isinstance(column, NumberColumn)
    assert column.shared is None


def test_they_are_stored_with_the_schema(schema: Schema) -> None:
    stored = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    again, here = (drawn(one, 4) for one in (stored, schema))
    assert all((again[name] == here[name]).all() for name in here)


def without_shared(values: dict) -> dict:
    """As an earlier release wrote it."""
    out = copy.deepcopy(values)
    for column in out["columns"]:
        column.pop("shared", None)
    return out


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("radii", lambda radii: radii[:-1]),
        ("radii", lambda radii: [0.0, *radii[1:]]),
        ("radii", lambda radii: [float("nan"), *radii[1:]]),
        ("radii", lambda radii: ["a", *radii[1:]]),
        ("values", lambda values: values[::-1]),
    ],
)
def test_a_strangers_shares_are_checked(schema: Schema, name: str, change: object) -> None:
    values = json.loads(json.dumps(schema.to_dict()))
    shared = values["columns"][0]["shared"]
    shared[name] = change(shared[name])
    with pytest.raises(DataError, match="column 1, shared"):
        Schema.from_dict(values)
