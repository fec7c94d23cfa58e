"""What new rows are compared with: scores of training rows, and independent columns.

Made at the end of a training on a table and kept in the run folder, so that `wakesleep score` needs
the model alone.
"""

import json
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from wakesleep.atomic import write_atomically
from wakesleep.data import Dataset, MaskedBits, PackedBits, as_bits
from wakesleep.errors import DataError
from wakesleep.inference.posterior import infer_rows
from wakesleep.models import BitModel
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.loading import Run
from wakesleep.runs.model_files import model_digest
from wakesleep.schema import IndependentColumns, Schema

Floats = npt.NDArray[np.float64]
Rows = PackedBits | MaskedBits

ROWS = 2000
"""At most so many training rows are scored, evenly spaced."""
SAMPLES = 200
"""Latents drawn for each row, here and in what is compared with it."""
SEED = 0


@dataclass(frozen=True, eq=False)
class Yardstick:
    """What is known of the training rows.

    Attributes:
        columns: what independent columns would say.
        scores: log-likelihoods of training rows, in increasing order.
        samples: K of those.
    """

    columns: IndependentColumns
    scores: Floats
    samples: int

    def percentiles(self, scores: Floats) -> Floats:
        """The share of training rows with at most such a log-likelihood, from 0 to 100."""
        return 100 * np.searchsorted(self.scores, scores, side="right") / len(self.scores)


def score_rows(model: BitModel, rows: Rows, log_measure: Floats, samples: int = SAMPLES) -> Floats:
    """Each row's log-likelihood in the table's units; it depends on no other row."""
    return infer_rows(model, rows, samples, jax.random.key(SEED)).log_likelihood + log_measure


def make_yardstick(model: BitModel, data: Dataset, samples: int = SAMPLES) -> Yardstick:
    """Score training rows, and count their levels."""
    rows = fixed_rows(data.train)
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(ROWS, len(rows))).astype(int))
    measure = np.zeros(len(rows)) if data.table is None else data.table.log_measure["train"]
    scores = score_rows(model, rows.take(chosen), measure[chosen], samples)
    return Yardstick(independent_columns(rows, data.schema), np.sort(scores), samples)


def independent_columns(rows: Rows, schema: Schema | None) -> IndependentColumns:
    """The frequencies of levels in a table's rows; bits by themselves have two."""
    states = (2,) * rows.features if schema is None else schema.states
    return IndependentColumns.fit(row_codes(rows, schema), states)


def row_codes(rows: Rows, schema: Schema | None) -> npt.NDArray[Any]:
    """The state of every group of every row, `[N, G]`; -1 where it is missing."""
    if schema is None:
        return rows[:]
    observed = rows.observed[:] if isinstance(rows, MaskedBits) else None
    return schema.codes(rows[:], observed)


def fixed_rows(table: Any) -> Rows:
    """Rows that are the same in every epoch; grey ones are drawn once."""
    return table if isinstance(table, MaskedBits) else as_bits(table)


def write_yardstick(folder: RunFolder, model: BitModel, data: Dataset) -> Yardstick:
    """Make the yardstick of the model in the folder, and keep it there."""
    made = make_yardstick(model, data)
    values = {
        "model": model_digest(folder.model_path),
        "samples": made.samples,
        "columns": made.columns.to_lists(),
        "scores": made.scores.tolist(),
    }
    write_atomically(folder.yardstick_path, json.dumps(values).encode())
    return made


def yardstick_of(run: Run, samples: int = SAMPLES) -> Yardstick:
    """A run's yardstick, made from its data where there is none of its present model."""
    path = run.folder.yardstick_path
    if samples != SAMPLES:
        return make_yardstick(run.machine, run.data, samples)
    if not path.exists():
        return write_yardstick(run.folder, run.machine, run.data)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if values["model"] != model_digest(run.folder.model_path):
            return write_yardstick(run.folder, run.machine, run.data)
        columns = IndependentColumns.from_lists(values["columns"], str(path))
        return Yardstick(columns, np.asarray(values["scores"], np.float64), int(values["samples"]))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"{path} cannot be read ({error}): remove it to make it again") from None
