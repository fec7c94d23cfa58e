"""Several runs beside each other: a page, and the numbers that may be compared at all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from wakesleep.errors import UsageError
from wakesleep.evaluation.result import LEVEL
from wakesleep.report.page import Picture, latent_rows, sample_pictures
from wakesleep.report.rendering import write_page
from wakesleep.report.run_figures import comparison_figures
from wakesleep.report.run_view import RunView, view_run
from wakesleep.report.svg import colour
from wakesleep.runs.yardstick_words import gain_sentences
from wakesleep.schema import unit_difference


@dataclass(frozen=True)
class Difference:
    """How much lower one run's NLL is than another's on the very same examples, in nats.

    Attributes:
        gain: mean of log p of `better` less that of `worse`.
        confidence: half width of its 95% interval; the examples' common difficulty cancels.
    """

    better: str
    worse: str
    gain: float
    confidence: float

    @property
    def certain(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.gain > self.confidence


def write_comparison(
    runs: Sequence[str | Path],
    out: Path,
    *,
    data: str | Path | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Write a page that compares several runs, and return its path."""
    views = view_runs(runs, data)
    steps = len(views) + 1
    alive: list[list[int]] = []
    samples: list[Picture] = []
    for done, view in enumerate(views, start=1):
        alive.append([row.use.alive for row in latent_rows(view)])
        samples += sample_pictures(view)
        progress(done, steps)
    path = write_page(
        out,
        "comparison.html.j2",
        runs=views,
        colours=[colour(index) for index in range(len(views))],
        alive=alive,
        samples=samples,
        figures=comparison_figures(views),
        caution=caution(views),
        differences=differences(views),
        beside=yardsticks(views),
    )
    progress(steps, steps)
    return path


def view_runs(runs: Sequence[str | Path], data: str | Path | None = None) -> list[RunView]:
    """Read several runs, at least two; `data` is where their data are now."""
    if len(runs) < 2:
        raise UsageError("a comparison needs at least two runs")
    return [view_run(run, data) for run in runs]


def caution(runs: Sequence[RunView]) -> str | None:
    """Why the runs' likelihoods do not compare, or None.

    Tables compare in their own units: by their rows and columns, whatever the schemas made of them.
    """
    schemas = [run.run.schema for run in runs]
    if all(schema is not None for schema in schemas):
        return _tables_caution(runs)
    for what, values in (
        ("data set", {run.data.name for run in runs}),
        ("binarisation", {run.data.binarisation for run in runs}),
        ("split", {run.evaluation["split"] for run in runs if run.evaluation}),
    ):
        if len(values) > 1:
            return f"These runs differ in their {what}: their likelihoods do not compare."
    return None


def _tables_caution(runs: Sequence[RunView]) -> str | None:
    first = runs[0]
    for other in runs[1:]:
        why = None
        if first.run.schema is not None and other.run.schema is not None:
            why = unit_difference(first.run.schema, other.run.schema)
        if why is None and first.evaluation and other.evaluation:
            why = None if _same_examples(first, other) else "they were evaluated on other rows"
        if why:
            return f"The likelihoods of {first.name} and {other.name} do not compare: {why}."
    return None


def differences(runs: Sequence[RunView]) -> list[Difference]:
    """Every pair of runs that was evaluated on the same examples, the better one first."""
    if caution(runs):
        return []
    pairs = [(a, b) for i, a in enumerate(runs) for b in runs[i + 1 :]]
    return [known for a, b in pairs if (known := _difference(a, b))]


def _difference(a: RunView, b: RunView) -> Difference | None:
    if not (a.examples and b.examples and _same_examples(a, b)):
        return None
    gains = a.examples.values - b.examples.values
    better, worse = (a, b) if gains.mean() >= 0 else (b, a)
    count = len(gains)
    spread = float(stdtrit(count - 1, (1 + LEVEL) / 2) * gains.std(ddof=1) / np.sqrt(count))
    # What a small K hides differs from run to run: both biases may tell in either direction.
    bias = max(-a.examples.bias, -b.examples.bias, 0.0)
    return Difference(better.name, worse.name, abs(float(gains.mean())), spread + bias)


def _same_examples(a: RunView, b: RunView) -> bool:
    """Whether both were evaluated on the very same rows; names and seeds alone do not say."""
    if not (a.evaluation and b.evaluation):
        return False
    rows, others = a.data.splits[a.evaluation["split"]], b.data.splits[b.evaluation["split"]]
    same = rows == others
    if a.run.schema is not None and b.run.schema is not None and rows.raw_sha256:
        same = rows.raw_sha256 == others.raw_sha256
    return rows.rows > 1 and same


def yardsticks(runs: Sequence[RunView]) -> list[str]:
    """What each run of a table is better than, and which runs were not evaluated yet."""
    found = []
    for run in runs:
        known = run.evaluation
        if known is None:
            found.append(f"{run.name} has no NLL yet: wakesleep evaluate {run.run.path}")
        elif "columns" in known:
            gains = gain_sentences(known["mean"], known, known["columns"])
            found += [f"{run.name}: {sentence}" for sentence in gains]
    return found


def comparison_rows(runs: Sequence[RunView]) -> list[dict[str, Any]]:
    """The numbers of each run, for a table or for JSON."""
    return [
        {
            "run": run.name,
            "data": run.data.name,
            "binarisation": run.data.binarisation,
            "model": run.config.model,
            "epochs": run.last["epoch"],
            "seconds": run.seconds,
            "valid_ll": run.best_valid_ll,
            "nll": -run.evaluation["mean"] if run.evaluation else None,
            "confidence": run.evaluation["confidence"] if run.evaluation else None,
            "samples": run.evaluation["samples"] if run.evaluation else None,
        }
        for run in runs
    ]
