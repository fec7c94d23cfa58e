"""What a page shows of a table and its model: made once at a run's end, and kept as table.json."""

import json
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from wakesleep.atomic import write_atomically
from wakesleep.data import Dataset
from wakesleep.errors import DataError
from wakesleep.inference.surprise import cell_log_probs
from wakesleep.models import BitModel, sample_bits
from wakesleep.runs.association import association, coarse
from wakesleep.runs.folder import RunFolder
from wakesleep.runs.loading import Run
from wakesleep.runs.model_files import model_digest
from wakesleep.runs.nearest_rows import closer_share, comparable_rows, nearest_distances
from wakesleep.runs.odd_rows import odd_rows
from wakesleep.runs.yardstick import (
    CELL_SAMPLES,
    SEED,
    Yardstick,
    cell_rows,
    fixed_rows,
    row_codes,
    spaced,
    yardstick_of,
)
from wakesleep.schema import Schema

SAMPLES = 2000
"""Rows that are drawn from the model."""
COMPARED = 500
"""Samples, and held-out rows, whose nearest training row is looked for."""
MOST_COLUMNS = 40
"""In the pictures of associations: those that the others tell most of."""
PATTERNS = 8
"""Sets of columns that are missing together, the most frequent ones."""

Codes = npt.NDArray[np.int32]
Numbers = dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Table:
    """A model, its table, and the states of its rows."""

    model: BitModel
    data: Dataset
    schema: Schema
    train: Codes
    samples: Codes

    @property
    def held_out(self) -> str:
        """The split that the model was not fitted to; train where there is no other."""
        return next(name for name in ("test", "valid", "train") if len(self.data.splits[name]))

    def codes(self, split: str) -> Codes:
        """The states of a split's rows."""
        return row_codes(fixed_rows(self.data.splits[split]), self.schema)


def table_numbers_of(run: Run) -> Numbers | None:
    """A table's numbers, made and stored first where there are none of the run's present model.

    None without a table, and for a run that kept none and whose data are gone.
    """
    if run.schema is None:
        return None
    path = run.folder.table_path
    if path.exists():
        try:
            found: Numbers = json.loads(path.read_text(encoding="utf-8"))
            if found["model"] == model_digest(run.folder.model_path):
                return found
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DataError(
                f"{path} cannot be read ({error}): remove it to make it again"
            ) from None
    if not run.has_data:
        return None
    return write_table_numbers(run.folder, run.data, run.machine, yardstick_of(run))


def write_table_numbers(
    folder: RunFolder, data: Dataset, model: BitModel, yardstick: Yardstick
) -> Numbers:
    """Make what the report shows of the table in the folder, and keep it there."""
    made = {"model": model_digest(folder.model_path), **make_table_numbers(model, data, yardstick)}
    write_atomically(folder.table_path, json.dumps(made, allow_nan=False).encode())
    return made


def make_table_numbers(model: BitModel, data: Dataset, yardstick: Yardstick) -> Numbers:
    """How columns are predicted, marginals, associations, odd rows, gaps and copies."""
    assert data.schema is not None
    bits = sample_bits(model, SAMPLES, key=jax.random.key(SEED))
    train = row_codes(fixed_rows(data.train), data.schema)
    table = _Table(model, data, data.schema, train, data.schema.codes(bits))
    predicted = _predicted(table, yardstick)
    return {
        "rows": {name: len(rows) for name, rows in data.splits.items()},
        "samples": SAMPLES,
        "predicted": predicted,
        "marginals": _marginals(table),
        "association": _associations(table, np.array(predicted["gain"])),
        "gaps": _gaps(table),
        "odd_rows": odd_rows(model, data, yardstick),
        "nearest": _nearest(table),
    }


def _predicted(table: _Table, yardstick: Yardstick) -> Numbers:
    """Mean log p of held-out cells given the rest of their row, less what the marginal says."""
    split = table.held_out
    rows = fixed_rows(table.data.splits[split])
    chosen = spaced(len(rows), cell_rows(table.model))
    key = jax.random.key(SEED)
    values = cell_log_probs(table.model, rows.take(chosen), CELL_SAMPLES, key=key)
    codes = table.codes(split)[chosen]
    marginal = np.full(codes.shape, np.nan)
    for group, log_probs in enumerate(yardstick.columns.log_probabilities):
        seen = codes[:, group] >= 0
        marginal[seen, group] = log_probs[codes[seen, group]]
    return {
        "split": split,
        "rows": len(chosen),
        "nats": _means(-values),
        "marginal_nats": _means(-marginal),
        "gain": _means(values - marginal),
    }


def _means(values: npt.NDArray[np.float64]) -> list[float]:
    """Of each column over the cells that are there; 0 where none is."""
    seen = ~np.isnan(values)
    total = np.where(seen, values, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    return [float(one) for one in total]


def _marginals(table: _Table) -> Numbers:
    def shares(codes: Codes) -> list[list[float]]:
        found = []
        for group, states in enumerate(table.schema.states):
            counts = np.bincount(codes[codes[:, group] >= 0, group], minlength=states)
            found.append([float(one) for one in counts / max(1, counts.sum())])
        return found

    return {"data": shares(table.train), "samples": shares(table.samples)}


def _associations(table: _Table, gain: npt.NDArray[np.float64]) -> Numbers:
    columns = np.sort(np.argsort(-gain, kind="stable")[:MOST_COLUMNS])
    chosen = spaced(len(table.train), SAMPLES)
    data, samples = coarse(table.schema, table.train[chosen], table.samples)
    return {
        "columns": columns.tolist(),
        "data": association(data, columns).tolist(),
        "samples": association(samples, columns).tolist(),
    }


def _gaps(table: _Table) -> Numbers:
    """The share of rows without a value, by column, and which columns lack it together."""
    missing = table.train < 0
    for group, column in enumerate(table.schema.modelled):
        if column.missing_level:
            missing[:, group] |= table.train[:, group] == column.states
    some = missing[missing.any(axis=1)]
    patterns, counts = np.unique(some, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:PATTERNS]
    return {
        "columns": missing.mean(axis=0).tolist(),
        "rows": len(some),
        "patterns": [
            {"columns": np.flatnonzero(patterns[one]).tolist(), "rows": int(counts[one])}
            for one in order
        ],
    }


def _nearest(table: _Table) -> Numbers | None:
    """Distances to training rows; None where no row was held out to compare samples with."""
    if table.held_out == "train":
        return None
    fresh = table.codes(table.held_out)
    fresh = fresh[spaced(len(fresh), COMPARED)]
    drawn = table.samples[:COMPARED]
    most = comparable_rows(len(fresh) + len(drawn), len(table.schema.modelled))
    training = table.train[spaced(len(table.train), most)]
    samples, held_out = (nearest_distances(table.schema, rows, training) for rows in (drawn, fresh))
    return {
        "split": table.held_out,
        "training_rows": len(training),
        "samples": np.sort(samples).tolist(),
        "held_out": np.sort(held_out).tolist(),
        "closer": closer_share(samples, held_out),
    }
