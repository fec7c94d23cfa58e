"""What new rows are compared with: scores of training rows, independent columns, a mixture.

Made at the end of a training on a table and kept in the run folder, so that `wakesleep score` needs
the model alone.
"""

import dataclasses
import json
import warnings
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from wakesleep.atomic import write_atomically
from wakesleep.data import Dataset, MaskedBits, PackedBits, as_bits
from wakesleep.errors import DataError
from wakesleep.inference.posterior import infer_rows
from wakesleep.inference.surprise import cell_log_probs
from wakesleep.models import BitModel, HelmholtzMachine, Mixture
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.loading import Run
from wakesleep.runs.model_files import model_digest
from wakesleep.schema import IndependentColumns, LatentClasses, Schema

Floats = npt.NDArray[np.float64]
Rows = PackedBits | MaskedBits

ROWS = 2000
"""At most so many training rows are scored, evenly spaced."""
SAMPLES = 200
"""Latents drawn for each row, here and in what is compared with it."""
CELL_ROWS = (4, 256)
"""The fewest and the most training rows whose cells are looked at."""
CELL_WORK = 60_000_000
"""Units that an autoregressive layer scores for them: all of them for each state of a group."""
CELL_SAMPLES = 100
"""Latents drawn for a row's cells: they are ranked, and need less than a likelihood does."""
SEED = 0


@dataclass(frozen=True, eq=False)
class Yardstick:
    """What is known of the training rows.

    Attributes:
        columns: what independent columns would say.
        classes: what a mixture of independent columns would say.
        scores: log-likelihoods of training rows, in increasing order.
        typical: of each column, the mean log p of a training row's cell given the row's others,
            in the table's units, `[G]`.
        valid: mean log-likelihoods of validation rows by `others`; empty where there are none.
        samples: K of the scores.
    """

    columns: IndependentColumns
    classes: LatentClasses
    scores: Floats
    typical: Floats
    valid: dict[str, float]
    samples: int

    def others(self, codes: npt.NDArray[Any], log_measure: Floats) -> dict[str, Floats]:
        """Log-likelihoods of rows by independent columns and by a mixture of them, `[N]`."""
        return {
            "independent_columns": self.columns.log_prob(codes) + log_measure,
            "mixture": self.classes.log_prob(codes) + log_measure,
        }

    def percentiles(self, scores: Floats) -> Floats:
        """The share of training rows with at most such a log-likelihood, from 0 to 100."""
        return 100 * np.searchsorted(self.scores, scores, side="right") / len(self.scores)


def score_rows(model: BitModel, rows: Rows, log_measure: Floats, samples: int = SAMPLES) -> Floats:
    """Each row's log-likelihood in the table's units; it depends on no other row."""
    return infer_rows(model, rows, samples, jax.random.key(SEED)).log_likelihood + log_measure


def make_yardstick(model: BitModel, data: Dataset, samples: int = SAMPLES) -> Yardstick:
    """Score training rows and their cells, count their levels, and fit a mixture."""
    rows = fixed_rows(data.train)
    chosen = spaced(len(rows), ROWS)
    measure = np.zeros(len(rows)) if data.table is None else data.table.log_measure["train"]
    scores = score_rows(model, rows.take(chosen), measure[chosen], samples)
    looked_at = rows.take(spaced(len(rows), cell_rows(model)))
    cells = cell_log_probs(model, looked_at, CELL_SAMPLES, key=jax.random.key(SEED))
    with warnings.catch_warnings():
        # A column without a value in these rows.
        warnings.simplefilter("ignore", RuntimeWarning)
        typical = np.nan_to_num(np.nanmean(cells, axis=0))
    states = (2,) * rows.features if data.schema is None else data.schema.states
    codes, held_out = row_codes(rows, data.schema), row_codes(fixed_rows(data.valid), data.schema)
    made = Yardstick(
        IndependentColumns.fit(codes, states),
        LatentClasses.fit(codes, states, held_out),
        np.sort(scores),
        typical if data.table is None else typical + data.table.cell_measure,
        {},
        samples,
    )
    if not len(held_out):
        return made
    measure = np.zeros(len(held_out)) if data.table is None else data.table.log_measure["valid"]
    means = {name: float(each.mean()) for name, each in made.others(held_out, measure).items()}
    return dataclasses.replace(made, valid={**means, "log_measure": float(measure.mean())})


def cell_rows(model: BitModel) -> int:
    """As many rows as some seconds are enough for."""
    machines = model.components if isinstance(model, Mixture) else (model,)
    slow = sum(
        not (isinstance(each, HelmholtzMachine) and each.p[0].factorial) for each in machines
    )
    if not slow:
        return CELL_ROWS[1]
    return int(np.clip(CELL_WORK // (slow * model.features**2), *CELL_ROWS))


def spaced(total: int, most: int) -> npt.NDArray[np.intp]:
    """The numbers of at most so many rows, evenly spaced."""
    return np.unique(np.linspace(0, total - 1, min(most, total)).astype(np.intp))


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
        "classes": made.classes.to_dict(),
        "scores": made.scores.tolist(),
        "typical": made.typical.tolist(),
        "valid": made.valid,
    }
    write_atomically(folder.yardstick_path, json.dumps(values).encode())
    return made


def yardstick_of(run: Run, samples: int = SAMPLES) -> Yardstick:
    """A run's yardstick, made from its data where there is none of its present model."""
    if samples != SAMPLES:
        return make_yardstick(run.machine, run.data, samples)
    found = read_yardstick(run.folder)
    return write_yardstick(run.folder, run.machine, run.data) if found is None else found


def read_yardstick(folder: RunFolder) -> Yardstick | None:
    """The yardstick in a run folder; None where it is of another model or an earlier release."""
    path = folder.yardstick_path
    if not path.exists():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if "classes" not in values or values["model"] != model_digest(folder.model_path):
            return None
        return Yardstick(
            IndependentColumns.from_lists(values["columns"], str(path)),
            LatentClasses.from_dict(values["classes"], str(path)),
            np.asarray(values["scores"], np.float64),
            np.asarray(values["typical"], np.float64),
            dict(values["valid"]),
            int(values["samples"]),
        )
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"{path} cannot be read ({error}): remove it to make it again") from None
