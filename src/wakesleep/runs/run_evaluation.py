"""Evaluating the model of a run folder, with the partial result kept there until it is whole."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jax
import numpy as np
import numpy.typing as npt

from wakesleep.atomic import write_atomically
from wakesleep.evaluation import LogLikelihood, log_likelihood
from wakesleep.evaluation.likelihood import DEFENSIVE
from wakesleep.options import Count, Fraction, Number, Seed, Tolerance, Whole, check_declared
from wakesleep.runs.loading import Run
from wakesleep.runs.yardstick import fixed_rows, row_codes, yardstick_of


@dataclass(frozen=True)
class RunEvaluation:
    """How a run's model is evaluated; see `log_likelihood` for what each means."""

    samples: Count = 1000
    split: Literal["train", "valid", "test"] = "test"
    tolerance: Tolerance = None
    method: str = "importance"
    defensive: Annotated[float | int, Fraction()] = DEFENSIVE
    memory: Annotated[float | int, Number(above=0)] = 2e9
    seed: Seed = 1
    rows: Annotated[int, Whole()] = 0
    """How many random rows of the split are scored, always the same ones; 0 for all."""

    def __post_init__(self) -> None:
        check_declared(self)

    def of(
        self, run: Run, progress: Callable[[int, int], None] | None = None
    ) -> tuple[LogLikelihood, dict[str, Any]]:
        """The result per example, and the summary; kept in evaluation.npz and .json.

        Of a table with a schema the log-likelihoods are in the table's own units, and beside
        them is what independent columns and a mixture give. Interrupted, the same call goes on
        where it stopped. A second one in the same folder at the same time is refused.
        """
        with run.folder.locked(".evaluation.lock"):
            return self._of(run, progress)

    def _of(
        self, run: Run, progress: Callable[[int, int], None] | None
    ) -> tuple[LogLikelihood, dict[str, Any]]:
        table = run.data.splits[self.split]
        chosen = random_rows(len(table), self.rows or len(table))
        rows = table.take(chosen) if self.rows else table
        partial = run.path / f".evaluation-{self.split}.partial"
        score = log_likelihood(
            run.model,
            rows,
            self.samples,
            key=jax.random.key(self.seed),
            method=self.method,
            tolerance=self.tolerance,
            defensive=self.defensive,
            memory=self.memory,
            checkpoint=partial,
            progress=progress,
        )
        about = run.data.table
        if about is not None:
            measure = about.log_measure[self.split][chosen]
            score = score.shifted(measure)
        summary = {
            "data": run.about_data.name,
            "binarisation": run.about_data.binarisation,
            "split": self.split,
            "samples": self.samples,
            "tolerance": self.tolerance,
            "defensive": self.defensive if self.method == "importance" else 0.0,
            "seed": self.seed,
            **score.to_dict(),
        }
        if about is not None:
            codes = row_codes(fixed_rows(rows), about.schema)
            others = yardstick_of(run).others(codes, measure)
            summary["columns"] = len(about.schema.groups)
            summary |= {name: float(values.mean()) for name, values in others.items()}
        # The report draws its histograms from the examples, and checks that they are these.
        score.save(run.path / "evaluation.npz")
        write_atomically(run.folder.evaluation_path, json.dumps(summary, indent=2).encode())
        partial.unlink(missing_ok=True)
        return score, summary


def random_rows(rows: int, count: int) -> npt.NDArray[np.intp]:
    """Numbers of so many rows of a table, in order: MNIST's test rows are grouped by digit."""
    return np.sort(np.random.default_rng(3).choice(rows, min(count, rows), replace=False))
