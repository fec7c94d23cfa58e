"""The oddest cells of rows, by the names of their columns."""

from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from wakesleep.inference.surprise import cell_log_probs
from wakesleep.models import BitModel
from wakesleep.runs.new_rows import NewRows
from wakesleep.runs.yardstick import CELL_SAMPLES, SEED, Yardstick
from wakesleep.schema import Cells, cell_texts, object_array


def odd_cells(model: BitModel, new: NewRows, yardstick: Yardstick, count: int) -> dict[str, Any]:
    """For each row its oddest cells: `odd_1` is a column, `odd_1_value` and `odd_1_nats` its cell.

    Nats are how much less likely the cell is given the rest of its row than cells of its column
    are in training rows, on average. So a column that nobody can foresee is not odd in every row.
    Names and values are missing where a row has fewer cells.
    """
    below = yardstick.typical - cell_values(model, new)
    order = np.argsort(np.where(np.isnan(below), np.inf, -below), axis=1, kind="stable")
    names, texts = _names(new, model), _texts(new)
    columns: dict[str, Any] = {}
    rows = np.arange(len(new))
    for place in range(min(count, below.shape[1])):
        chosen = order[:, place]
        nats = below[rows, chosen]
        none = np.isnan(nats)
        values = object_array([texts[g][row] for row, g in enumerate(chosen)])
        name = f"odd_{place + 1}"
        columns[name] = Cells(name, "text", object_array([names[g] for g in chosen]), none)
        columns[f"{name}_value"] = Cells(f"{name}_value", "text", values, none)
        columns[f"{name}_nats"] = Cells(f"{name}_nats", "real", np.where(none, 0.0, nats), none)
    return columns


def cell_values(model: BitModel, new: NewRows) -> npt.NDArray[np.float64]:
    """log p of every cell given the rest of its row, in the table's units, `[N, G]`."""
    values = cell_log_probs(model, new.rows, CELL_SAMPLES, key=jax.random.key(SEED))
    if new.encoded is not None and new.schema is not None:
        values = values + new.schema.log_measure(new.encoded)
    return values


def _names(new: NewRows, model: BitModel) -> list[str]:
    if new.schema is not None:
        return list(new.schema.names)
    return [f"column {number + 1}" for number in range(model.features)]


def _texts(new: NewRows) -> list[list[str]]:
    """Every modelled column's cells as the file has them."""
    if new.schema is None or new.frame is None:
        return [[str(bit) for bit in column] for column in new.rows[:].T]
    frame = new.frame
    nothing = [""] * len(new)
    return [cell_texts(frame[name]) if name in frame else nothing for name in new.schema.names]
