"""What the estimator gives: samples and imputed tables, like the tables that came in."""

import dataclasses
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Key

from wakesleep.errors import UsageError
from wakesleep.inference.imputation import ENOUGH
from wakesleep.inference.imputed_table import HOW, impute_read
from wakesleep.inference.surprise import cell_log_probs
from wakesleep.models import TableModel
from wakesleep.schema import (
    Cells,
    Frame,
    LevelColumn,
)
from wakesleep.sklearn.estimator_input import Given, say
from wakesleep.sklearn.input_tables import Form

PROBABILITY = "probability"


def check_count(n_samples: Any) -> None:
    """Refuse what is no count of rows to draw."""
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise UsageError(f"n_samples is {n_samples!r}, but it must be a count of 1 or more")


def oddity_given(
    x: Given, model: TableModel, unseen: str, log_likelihood: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """How odd the rows of X are, which have these log-likelihoods, `[N]`."""
    if model.schema.typical is None:
        return -log_likelihood
    return model.schema.oddity(model.read(x.table, unseen=unseen).encoded, log_likelihood)


def impute_given(x: Given, model: TableModel, key: Key[Array, ""], options: dict[str, Any]) -> Any:
    """X with its missing cells imputed."""
    how, samples = options["how"], options["samples"]
    if how not in (*HOW, PROBABILITY):
        raise UsageError(f"how is {how!r}, but it must be one of {', '.join((*HOW, PROBABILITY))}")
    read = model.read(x.table, unseen=options["unseen"])
    say(read.notes)
    enough = _enough(samples)
    if how != PROBABILITY:
        return x.form.give(
            impute_read(
                model, (read.frame, read.encoded), samples, key=key, how=how, enough=enough
            )[0]
        )
    _check_bits(model)
    _, imputed = impute_read(model, (read.frame, read.encoded), samples, key=key, enough=enough)
    return _numbers_like(x.form, model, imputed.probabilities)


def surprise_given(
    x: Given, model: TableModel, key: Key[Array, ""], options: dict[str, Any]
) -> Any:
    """log p of every cell of X given its row's others, in the form of X."""
    read = model.read(x.table, unseen=options["unseen"])
    say(read.notes)
    values = cell_log_probs(model.model, read.rows, options["samples"], key=key)
    return _numbers_like(x.form, model, values + model.schema.log_measure(read.encoded))


def _enough(samples: int) -> int:
    """Effective samples after which a row is left: more where a person asks for more samples."""
    return max(ENOUGH, samples // 10)


def _check_bits(model: TableModel) -> None:
    for column in model.schema.modelled:
        if not isinstance(column, LevelColumn) or column.levels != ("0", "1"):
            raise UsageError(
                f"column {column.name!r} is not one of 0 and 1, so it has no probability of a 1: "
                "use how='probable' or how='draw'"
            )


def _numbers_like(form: Form, model: TableModel, values: npt.NDArray[Any]) -> Any:
    """A number for each cell of the modelled columns, in a frame or an array as the form is."""
    cells = tuple(
        Cells(name, "real", np.nan_to_num(column.astype(np.float64)), np.isnan(column))
        for name, column in zip(model.schema.names, values.T, strict=True)
    )
    origin = form.origin and dataclasses.replace(form.origin, template=None)
    plain = dataclasses.replace(form, origin=origin, dtype=np.dtype(np.float64))
    return plain.give(Frame(cells, len(values), "the result"))
