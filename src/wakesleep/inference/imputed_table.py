"""Missing cells of a table imputed by a model of its bits, names and types kept."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Array, Key

from wakesleep.errors import UsageError
from wakesleep.inference.imputation import Imputation, impute
from wakesleep.inference.placed_numbers import DRAWS, is_useful, weighed
from wakesleep.keys import generator_of
from wakesleep.models import TableModel
from wakesleep.schema import (
    Encoded,
    Frame,
    Schema,
    impute_missing,
    median_shares,
    most_probable,
    to_native,
    with_certainty,
)

HOW = ("probable", "draw")


def impute_read(
    model: TableModel,
    read: tuple[Frame, Encoded],
    samples: int = 500,
    *,
    key: Key[Array, ""],
    how: str = "probable",
    beside: bool = False,
    **options: Any,
) -> tuple[Frame, Imputation]:
    """The table with its missing cells imputed, and what is known of the draws.

    Args:
        model: a model and its schema.
        read: a table, and its rows as the schema encodes them.
        samples: imputations considered for each row.
        key: the randomness.
        how: "probable" for the most probable level and the median of numbers, "draw" for one
            draw of all of a row's missing cells together.
        beside: whether columns with probabilities and intervals are added.
        options: further ones of `impute`.

    Columns of the model that the table does not have are added behind its own.
    """
    if how not in HOW:
        raise UsageError(f"how is {how!r}, but it must be one of {', '.join(HOW)}")
    if how == "draw":
        tables, imputed = impute_draws(model, read, samples, key=key, beside=beside, **options)
        return tables[0], imputed
    imputed = impute_encoded(model, read[1], samples, key=key, **options)
    schema, known = model.schema, read[1].within
    bits = most_probable(schema, imputed.probabilities)
    shares = median_shares(schema, imputed.probabilities)
    drawn = schema.decode(bits, None, known=known, shares=shares)
    beside_these = (bits, imputed.probabilities) if beside else None
    return _imputed(schema, read, drawn, beside_these), imputed


def impute_draws(
    model: TableModel,
    read: tuple[Frame, Encoded],
    samples: int = 500,
    *,
    key: Key[Array, ""],
    draws: int = 1,
    beside: bool = False,
    **options: Any,
) -> tuple[list[Frame], Imputation]:
    """So many draws of the table's missing cells, a row's together, and what is known of them."""
    schema, encoded, rng = model.schema, read[1], generator_of(key)
    imputed = impute_encoded(model, encoded, samples, key=key, draws=draws, **options)
    tables = []
    for number in range(draws):
        bits = imputed.draws[:, number]
        drawn = schema.decode(bits, rng, known=encoded.within)
        beside_these = (bits, imputed.probabilities) if beside else None
        tables.append(_imputed(schema, read, drawn, beside_these))
    return tables, imputed


def _imputed(
    schema: Schema, read: tuple[Frame, Encoded], drawn: Frame, beside: tuple[Any, Any] | None
) -> Frame:
    """The table with its gaps from another, whose further columns follow; certainties if asked."""
    frame, encoded = _with_gaps(schema, *read), read[1]
    absent = [cells for cells in drawn.cells if cells.name not in frame]
    table = impute_missing(frame, drawn)
    table = dataclasses.replace(table, cells=(*table.cells, *absent))
    if beside is None:
        return table
    return with_certainty(table, schema, ~encoded.observed, beside)


def _with_gaps(schema: Schema, frame: Frame, encoded: Encoded) -> Frame:
    """The table with a gap wherever no state was observed, as where a level counts as missing."""
    gaps = dict(zip((column.name for column in schema.modelled), ~encoded.observed.T, strict=True))
    cells = tuple(
        dataclasses.replace(one, missing=one.missing | gaps[one.name]) if one.name in gaps else one
        for one in frame.cells
    )
    return dataclasses.replace(frame, cells=cells)


def impute_encoded(
    model: TableModel,
    encoded: Encoded,
    samples: int = 500,
    *,
    key: Key[Array, ""],
    draws: int = 1,
    **options: Any,
) -> Imputation:
    """What is known of the missing cells of encoded rows; where in its bin a number is counts.

    Args:
        model: a model and its schema.
        encoded: the rows.
        samples: imputations considered for each row.
        key: the randomness.
        draws: imputations returned for each row.
        options: further ones of `impute`.
    """
    schema = model.schema
    missing = np.repeat(~encoded.observed, schema.groups, axis=1)
    weigh = is_useful(schema, encoded)
    drawn = max(draws, min(DRAWS, samples)) if weigh else draws
    imputed: Imputation = impute(
        model.model, encoded.bits, missing, samples, key=key, draws=drawn, **options
    )
    return weighed(schema, encoded, imputed, generator_of(key), draws) if weigh else imputed


def impute_table(model: TableModel, table: Any, *, key: Key[Array, ""], **options: Any) -> Any:
    """A table like the one given, of the same library, with its missing cells imputed."""
    read = model.read(table)
    frame, _ = impute_read(model, (read.frame, read.encoded), key=key, **options)
    return to_native(frame)
