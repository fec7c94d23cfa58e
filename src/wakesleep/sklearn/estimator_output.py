"""What the estimator gives: samples and imputed tables, like the tables that came in."""

import dataclasses
from typing import Any

import jax
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Key

from wakesleep.data import MaskedBits, PackedBits
from wakesleep.errors import UsageError
from wakesleep.inference.imputation import impute
from wakesleep.inference.imputed_table import HOW, impute_read
from wakesleep.keys import generator_of
from wakesleep.models import TableModel, sample
from wakesleep.schema import Cells, Frame, LevelColumn
from wakesleep.sklearn.estimator_input import Given, say
from wakesleep.sklearn.input_tables import Form

PROBABILITY = "probability"


def sample_like(form: Form, model: TableModel, count: int, key: Key[Array, ""]) -> Any:
    """Rows drawn from the model in the form of the training rows."""
    key_bits, key_within = jax.random.split(key)
    # Powers of two: few shapes to compile, whatever is asked for.
    bits = sample(model.model, 1 << (count - 1).bit_length(), key=key_bits)[:count]
    return form.give(model.schema.decode(bits, generator_of(key_within)))


def impute_given(x: Given, model: TableModel, key: Key[Array, ""], options: dict[str, Any]) -> Any:
    """X with its missing cells imputed."""
    how, samples = options["how"], options["samples"]
    if how not in (*HOW, PROBABILITY):
        raise UsageError(f"how is {how!r}, but it must be one of {', '.join((*HOW, PROBABILITY))}")
    read = model.read(x.table, unseen=options["unseen"])
    say(read.notes)
    if how != PROBABILITY:
        return x.form.give(impute_read(model, read, samples, key=key, how=how)[0])
    _check_bits(model)
    _, imputed = impute_read(model, read, samples, key=key)
    form = dataclasses.replace(x.form, dtype=np.dtype(np.float64))
    if form.origin is not None:
        form = dataclasses.replace(form, origin=dataclasses.replace(form.origin, template=None))
    return form.give(_columns_of(model, imputed.probabilities))


def visible_means(
    model: TableModel, rows: PackedBits | MaskedBits, samples: int, key: Key[Array, ""]
) -> npt.NDArray[np.float64]:
    """The bits of rows, `[N, D]`; for missing ones the probability of a 1 given the others.

    What a model without latents has for features.
    """
    bits = rows[:]
    if isinstance(rows, PackedBits):
        return bits.astype(np.float64)
    missing = np.repeat(rows.observed[:] == 0, rows.groups, axis=1)
    imputed = impute(model.model, bits, missing, samples, key=key, draws=1)
    return imputed.probabilities.astype(np.float64)


def _check_bits(model: TableModel) -> None:
    for column in model.schema.modelled:
        if not isinstance(column, LevelColumn) or column.levels != ("0", "1"):
            raise UsageError(
                f"column {column.name!r} is not one of 0 and 1, so it has no probability of a 1: "
                "use how='probable' or how='draw'"
            )


def _columns_of(model: TableModel, values: npt.NDArray[Any]) -> Frame:
    """A number for each cell, under the columns' names."""
    nothing = np.zeros(len(values), bool)
    cells = tuple(
        Cells(name, "real", column.astype(np.float64), nothing)
        for name, column in zip(model.schema.names, values.T, strict=True)
    )
    return Frame(cells, len(values), "the result")
