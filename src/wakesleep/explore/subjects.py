"""Runs to be explored: what their rows are made of, and what may be asked of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wakesleep.errors import UsageError
from wakesleep.models import BitModel
from wakesleep.runs.diagnostics import diagnostics_of
from wakesleep.runs.loading import Run, load_run
from wakesleep.schema import Schema

MOST_RUNS = 2


@dataclass(frozen=True, eq=False)
class Subject:
    """A run whose model is asked."""

    run: Run

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.run.path.resolve().name

    @property
    def model(self) -> BitModel:
        """The model."""
        return self.run.machine

    @property
    def schema(self) -> Schema | None:
        """What the columns are; None for bits without names."""
        return self.run.schema

    def labels(self) -> list[list[str]]:
        """Each column's states in words."""
        if self.schema is None:
            return [["0", "1"]] * self.model.groups_count
        return [
            [*one.labels(), *(["missing"] if one.missing_level else [])]
            for one in self.schema.modelled
        ]

    def names(self) -> list[str]:
        """The columns' names."""
        if self.schema is None:
            return [f"bit {number}" for number in range(1, self.model.groups_count + 1)]
        return list(self.schema.names)

    def kinds(self) -> list[str]:
        """What each column is."""
        if self.schema is None:
            return ["bit"] * self.model.groups_count
        return [one.kind for one in self.schema.modelled]

    def image(self) -> dict[str, Any] | None:
        """How bits are pixels: the bit of each, row by row, and half images to begin with."""
        about = self.run.about_data
        if self.schema is not None or about.image_shape is None:
            return None
        shown = about.without_rows()
        rows, columns = about.image_shape
        return {
            "rows": rows,
            "columns": columns,
            "inverted": about.inverted,
            "pixels": shown.images(np.arange(self.model.features)).ravel().tolist(),
            "examples": self._examples(),
        }

    def _examples(self) -> list[list[int]]:
        """Images whose lower half is hidden (-1), as the run kept them for its report."""
        kept = diagnostics_of(self.run) if self.run.folder.diagnostics_path.exists() else None
        if kept is None or "given" not in kept:
            return []
        hidden = kept["missing"].astype(bool)
        return np.where(hidden, -1, kept["given"].astype(int)).tolist()


def open_subjects(paths: Sequence[str | Path]) -> tuple[Subject, ...]:
    """One or two runs; two must have the same columns to be asked the same."""
    if not 1 <= len(paths) <= MOST_RUNS:
        raise UsageError("explore takes one run, or two to see them side by side")
    subjects = tuple(Subject(load_run(path)) for path in paths)
    first = subjects[0]
    for subject in subjects:
        _ = subject.model
    for other in subjects[1:]:
        same_names = other.names() == first.names()
        if not same_names or other.labels() != first.labels():
            what = "bins or levels" if same_names else "columns"
            raise UsageError(
                f"{first.name} and {other.name} have different {what}: side by side are runs on "
                "the same data with the same schema"
            )
    return subjects


def about(subjects: Sequence[Subject]) -> dict[str, Any]:
    """What the page is built from, in plain values."""
    first = subjects[0]
    rows = zip(first.names(), first.kinds(), first.labels(), strict=True)
    return {
        "machines": [
            {"name": one.name, "model": one.run.config.model, "data": one.run.about_data.name}
            for one in subjects
        ],
        "columns": [{"name": name, "kind": kind, "labels": labels} for name, kind, labels in rows],
        "image": first.image(),
    }
