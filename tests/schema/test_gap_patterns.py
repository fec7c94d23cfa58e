"""Gaps of drawn rows, in the patterns of the training rows."""

import json

import numpy as np
import pytest

import wakesleep as ws
from wakesleep.errors import DataError, UsageError
from wakesleep.inference.sample_rows import with_gaps
from wakesleep.schema import Schema, infer_schema

ROWS = 1000


def answers() -> dict[str, list]:
    """Who was not asked `a` was not asked `b`; `c` is complete."""
    rng = np.random.default_rng(0)
    asked = rng.random(ROWS) < 0.7
    word = rng.choice(["yes", "no"], ROWS)
    return {
        "a": [str(w) if known else None for w, known in zip(word, asked, strict=True)],
        "b": [
            float(x) if known else None for x, known in zip(rng.random(ROWS), asked, strict=True)
        ],
        "c": [str(w) for w in rng.choice(["u", "v", "w"], ROWS)],
    }


@pytest.fixture(scope="module")
def schema() -> Schema:
    return infer_schema(answers())


@pytest.fixture(scope="module")
def table(schema: Schema) -> ws.TableModel:
    """Untrained: gaps do not depend on what is drawn."""
    import jax

    model = ws.build("sbn", features=schema.units, groups=schema.groups, key=jax.random.key(0))
    return ws.TableModel(model, schema)


def test_cells_are_missing_together(table: ws.TableModel) -> None:
    frame = ws.sample(table, 2000, key=1, like="pandas", gaps=True)
    gone = frame.isna()
    assert (gone["a"] == gone["b"]).all()
    assert not gone["c"].any()
    share = np.mean([one is None for one in answers()["a"]])
    assert gone["a"].mean() == pytest.approx(share, abs=3 * np.sqrt(0.21 / 2000))


def test_rows_are_complete_unless_gaps_are_asked_for(table: ws.TableModel) -> None:
    complete = ws.sample(table, 100, key=1, like="pandas")
    assert not complete.isna().any().any()
    gapped = ws.sample(table, 100, key=1, like="pandas", gaps=True)
    assert gapped["c"].equals(complete["c"])


def test_what_is_given_is_not_missing(table: ws.TableModel) -> None:
    frame = ws.sample(table, 300, key=2, like="pandas", given="a=yes", gaps=True)
    assert (frame["a"] == "yes").all()
    assert frame["b"].isna().any()


def test_patterns_are_stored_with_the_schema(schema: Schema) -> None:
    stored = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert stored.gaps is not None
    assert schema.gaps is not None
    assert (stored.gaps.missing == schema.gaps.missing).all()
    assert (stored.gaps.counts == schema.gaps.counts).all()
    assert schema.gaps.counts.sum() == ROWS


def test_a_table_without_gaps_has_no_patterns() -> None:
    complete = infer_schema({"c": answers()["c"]})
    assert complete.gaps is None
    frame = complete.decode(complete.encode({"c": ["u", "v"]}).bits, 0)
    assert with_gaps(complete, frame, 0) is frame


def test_a_model_of_an_earlier_release_says_so(schema: Schema) -> None:
    values = schema.to_dict()
    del values["gaps"]
    older = Schema.from_dict(values)
    frame = older.decode(schema.encode({"c": ["u"], "a": ["yes"], "b": [0.5]}).bits, 0)
    with pytest.raises(UsageError, match="train it again"):
        with_gaps(older, frame, 0)


def test_bits_have_no_gaps(table: ws.TableModel) -> None:
    with pytest.raises(UsageError, match="gaps="):
        ws.sample(table.model, 3, key=0, gaps=True)


@pytest.mark.parametrize(
    "gaps",
    [
        None,
        {"columns": [[0]]},
        {"columns": [[0]], "counts": [0]},
        {"columns": [[0]], "counts": [1, 2]},
        {"columns": [[9]], "counts": [1]},
        {"columns": [[-1]], "counts": [1]},
        {"columns": [["a"]], "counts": [1]},
        {"columns": [], "counts": []},
        {"columns": [[0]], "counts": [1.5]},
    ],
)
def test_a_strangers_patterns_are_checked(schema: Schema, gaps: object) -> None:
    with pytest.raises(DataError, match="missing together"):
        Schema.from_dict(schema.to_dict() | {"gaps": gaps})
