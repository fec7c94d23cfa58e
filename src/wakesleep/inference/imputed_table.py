"""Missing cells of a table imputed by a model of its bits, names and types kept."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Array, Key

from wakesleep.errors import UsageError
from wakesleep.inference.imputation import Imputation, impute
from wakesleep.keys import generator_of
from wakesleep.models import TableModel
from wakesleep.models.table_model import TableRowsRead
from wakesleep.schema import Frame, impute_missing, most_probable, to_native

HOW = ("probable", "draw")


def impute_read(
    model: TableModel,
    read: TableRowsRead,
    samples: int = 500,
    *,
    key: Key[Array, ""],
    how: str = "probable",
    **options: Any,
) -> tuple[Frame, Imputation]:
    """The table with its missing cells imputed, and what is known of the draws.

    Args:
        model: a model and its schema.
        read: rows that the model read.
        samples: imputations considered for each row.
        key: the randomness.
        how: "probable" for the most probable level and the median of numbers, "draw" for one
            draw of all of a row's missing cells together.
        options: further ones of `impute`.

    Columns of the model that the table does not have are added behind its own.
    """
    if how not in HOW:
        raise UsageError(f"how is {how!r}, but it must be one of {', '.join(HOW)}")
    schema = model.schema
    missing = np.repeat(~read.encoded.observed, schema.groups, axis=1)
    options = {"draws": 1, **options}
    imputed = impute(model.model, read.encoded.bits, missing, samples, key=key, **options)
    if how == "probable":
        # Numbers are then in the middle of their bins.
        drawn = schema.decode(most_probable(schema, imputed.probabilities), None, tails=False)
    else:
        drawn = schema.decode(imputed.draws[:, 0], generator_of(key), tails=False)
    absent = [cells for cells in drawn.cells if cells.name not in read.frame]
    table = impute_missing(read.frame, drawn)
    return dataclasses.replace(table, cells=(*table.cells, *absent)), imputed


def impute_table(model: TableModel, table: Any, *, key: Key[Array, ""], **options: Any) -> Any:
    """A table like the one given, of the same library, with its missing cells imputed."""
    frame, _ = impute_read(model, model.read(table), key=key, **options)
    return to_native(frame)
