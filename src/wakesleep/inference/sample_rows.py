"""`sample`: rows drawn from a model, of bits or of a table, also under conditions."""

import warnings
from numbers import Integral
from typing import Any

import jax
from jaxtyping import Array, Key

from wakesleep.errors import UsageError
from wakesleep.inference.given import GivenSamples, sample_given
from wakesleep.keys import LikeKey, as_key, generator_of
from wakesleep.models import LatentModel, TableModel, sample_bits
from wakesleep.models.table_model import installed_library
from wakesleep.schema import (
    Frame,
    Given,
    Schema,
    allowed_states,
    decode_given,
    parse_given,
    to_native,
)

UNRELIABLE = "few different rows keep the conditions: the model finds them hard to keep together"


def sample(
    model: LatentModel | TableModel,
    n: int,
    *,
    key: LikeKey,
    like: Any = None,
    given: Given | None = None,
    gaps: bool = False,
) -> Any:
    """Draw n rows from a model: bits `[n, D]`, uint8, or a frame from a `TableModel`.

    Args:
        model: a Helmholtz machine or a mixture, or one with the schema of its table.
        n: how many rows.
        key: the randomness: a seed or a JAX key.
        like: for a table, a frame whose library and column types the samples get, or the name of
            a library; pandas, polars or pyarrow otherwise, the first that is installed.
        given: for a table, conditions that all rows keep: `{"region": "north", "age": (30, 40)}`,
            or `"region=north,age=30..40"`; a list allows several levels.
        gaps: for a table, whether cells are missing in patterns like those of the training rows.

    >>> import jax, wakesleep as ws
    >>> ws.sample(ws.build("sbn/sbn 2-3", features=4, key=jax.random.key(0)), 5, key=0).shape
    (5, 4)
    """
    chosen = as_key(key)
    if not isinstance(n, Integral) or n < 0:
        raise UsageError(f"n is {n!r}, but it must be a count of rows, 0 or more")
    if not isinstance(model, TableModel):
        if given is not None or gaps:
            raise UsageError(
                "given= names columns of a table and gaps= empties some of them, but this model "
                "knows no columns: give ws.TableModel(model, schema), or a fit's table_model"
            )
        return sample_bits(model, n, key=chosen)
    frame, notes = sample_frame(model, n, chosen, given, gaps=gaps)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return to_native(frame, installed_library() if like is None else like)


def sample_frame(
    model: TableModel, count: int, key: Key[Array, ""], given: Given | None, *, gaps: bool = False
) -> tuple[Frame, list[str]]:
    """Rows of a table, under conditions where there are any, and what a person should be told."""
    key_bits, key_within = jax.random.split(key)
    notes = []
    if given is None:
        # Powers of two: few shapes to compile, whatever is asked for.
        bits = sample_bits(model.model, 1 << (count - 1).bit_length(), key=key_bits)[:count]
        frame = model.schema.decode(bits, generator_of(key_within))
    else:
        frame, drawn = frame_given(model, count, given, keys=(key_bits, key_within))
        notes = [UNRELIABLE] if drawn.unreliable else []
    if gaps:
        frame = with_gaps(model.schema, frame, generator_of(jax.random.fold_in(key, 1)), given)
    return frame, notes


def with_gaps(schema: Schema, frame: Frame, rng: Any, given: Given | None = None) -> Frame:
    """Drawn rows whose cells are missing in patterns like those of the training rows.

    Args:
        schema: of the table.
        frame: the rows.
        rng: a generator or a seed.
        given: the conditions that the rows keep; their columns stay as they are.
    """
    if schema.gaps is None:
        if any(column.missing and not column.missing_level for column in schema.modelled):
            raise UsageError(
                "this model does not know which cells are missing together, since an earlier "
                "release made it: train it again, or draw complete rows"
            )
        return frame
    conditions = () if given is None else parse_given(schema, given)
    kept = [schema.names[one.group] for one in conditions]
    return schema.gaps.put_into(frame, schema.names, rng, kept)


def frame_given(
    model: TableModel,
    count: int,
    given: Given,
    *,
    keys: tuple[Key[Array, ""], Key[Array, ""] | int],
    samples: int = 100,
) -> tuple[Frame, GivenSamples]:
    """Rows of a table that keep conditions, and how well they could be drawn.

    Args:
        model: with a schema.
        count: how many rows.
        given: the conditions, as `sample` takes them.
        keys: of the bits, and of where in their bins numbers are, which may be a seed.
        samples: the most that are weighted for each row.
    """
    conditions = parse_given(model.schema, given)
    key_bits, place = keys
    drawn = sample_given(model.model, allowed_states(conditions), count, samples, key=key_bits)
    seed = place if isinstance(place, int) else int(generator_of(place).integers(2**31))
    return decode_given(model.schema, drawn.draws, seed, conditions), drawn
