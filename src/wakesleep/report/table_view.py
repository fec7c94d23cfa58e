"""What a page says of a table: columns, marginals, associations, odd rows, gaps and copies."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from wakesleep.report.run_view import RunView
from wakesleep.report.table_figures import distance_figure, heat_map, histogram, is_histogram
from wakesleep.runs.table_numbers import table_numbers_of
from wakesleep.schema import Column, NumberColumn, Schema

SHOWN_LEVELS = 10
SHOWN_COLUMNS = 60
SHOWN_DIFFERENCES = 6
FULL_DIFFERENCE = 0.4
"""The difference of associations that is shown in full colour."""
CLOSER = 0.55
"""Samples that are closer to training more often than this, beyond chance, look like copies."""


@dataclass(frozen=True)
class ColumnRow:
    """A line of the table of columns; the last three are nats, None where it is not modelled."""

    name: str
    kind: str
    detail: str
    missing: float
    note: str
    marginal: float | None = None
    nats: float | None = None
    gain: float | None = None

    @property
    def told(self) -> float:
        """The share of a column's nats that the rest of the row tells, from 0 to 1."""
        if self.gain is None or not self.marginal:
            return 0.0
        return min(1.0, max(0.0, self.gain / self.marginal))


@dataclass(frozen=True)
class Level:
    """A level's share in the data and in samples."""

    name: str
    data: float
    samples: float


@dataclass(frozen=True)
class Marginal:
    """A column in data and samples: a histogram of numbers, or bars of levels."""

    name: str
    difference: float
    figure: Markup | None
    levels: list[Level]


@dataclass(frozen=True)
class Pair:
    """Two columns' association in data and in samples."""

    first: str
    second: str
    data: float
    samples: float


@dataclass(frozen=True, eq=False)
class TableView:
    """The numbers in a run's table.json, ready for the page."""

    schema: Schema
    numbers: dict[str, Any]

    @property
    def columns(self) -> list[ColumnRow]:
        """Every column of the table, those left out included."""
        modelled = {name: group for group, name in enumerate(self.schema.names)}
        predicted = self.numbers["predicted"]
        rows = []
        for one in self.schema.table():
            nats: list[float] = []
            if one.name in modelled:
                names = ("marginal_nats", "nats", "gain")
                nats = [predicted[name][modelled[one.name]] for name in names]
            rows.append(ColumnRow(one.name, one.kind, one.detail, one.missing, one.note, *nats))
        return rows

    @property
    def marginals(self) -> list[Marginal]:
        """Data and samples side by side, in the table's order; the most different of very many."""
        both = self.numbers["marginals"]
        made = [
            (_difference(data, samples), column, data, samples)
            for column, data, samples in zip(
                self.schema.modelled, both["data"], both["samples"], strict=True
            )
        ]
        least = sorted((one[0] for one in made), reverse=True)[:SHOWN_COLUMNS][-1]
        return [_marginal(*one) for one in made if one[0] >= least][:SHOWN_COLUMNS]

    @property
    def maps(self) -> list[Markup]:
        """Associations of data, of samples, and what differs."""
        data, samples = (np.array(self.numbers["association"][n]) for n in ("data", "samples"))
        names = self._associated
        return [
            heat_map(names, data, "Data"),
            heat_map(names, samples, "Samples"),
            heat_map(names, samples - data, "Samples less data", FULL_DIFFERENCE),
        ]

    @property
    def differences(self) -> list[Pair]:
        """The pairs whose association the model misses most."""
        return sorted(self._pairs(), key=lambda pair: -abs(pair.data - pair.samples))[
            :SHOWN_DIFFERENCES
        ]

    def _pairs(self) -> Iterator[Pair]:
        names, kept = self._associated, self.numbers["association"]
        for i, first in enumerate(names):
            for j, second in enumerate(names[:i]):
                yield Pair(second, first, kept["data"][i][j], kept["samples"][i][j])

    @property
    def _associated(self) -> list[str]:
        return [self.schema.names[group] for group in self.numbers["association"]["columns"]]

    @property
    def patterns(self) -> list[tuple[list[str], int]]:
        """Columns that are missing together, and in how many training rows."""
        return [
            ([self.schema.names[group] for group in one["columns"]], one["rows"])
            for one in self.numbers["gaps"]["patterns"]
        ]

    @property
    def distances(self) -> Markup | None:
        """How far samples and held-out rows are from training rows."""
        kept = self.numbers["nearest"]
        return kept and distance_figure(kept["samples"], kept["held_out"])

    @property
    def copied(self) -> bool:
        """Whether samples are closer to training rows than chance among fresh rows explains."""
        kept = self.numbers["nearest"]
        n, m = len(kept["samples"]), len(kept["held_out"])
        chance = 3 * math.sqrt((n + m + 1) / (12 * n * m))
        return bool(kept["closer"] > max(CLOSER, 0.5 + chance))

    def nearest(self, who: str) -> dict[str, float]:
        """The median distance, and the share of rows that are in the training rows."""
        values = np.array(self.numbers["nearest"][who])
        return {"median": float(np.median(values)), "same": float((values == 0).mean())}


def table_view(view: RunView) -> TableView | None:
    """What can be said of the run's table; None where nothing can."""
    numbers = table_numbers_of(view.run)
    if numbers is None or view.run.schema is None:
        return None
    return TableView(view.run.schema, numbers)


def _difference(data: list[float], samples: list[float]) -> float:
    """The total variation between two lists of shares."""
    return 0.5 * sum(abs(a - b) for a, b in zip(data, samples, strict=True))


def _marginal(
    difference: float, column: Column, data: list[float], samples: list[float]
) -> Marginal:
    if is_histogram(column):
        return Marginal(column.name, difference, histogram(column, data, samples), [])
    labels = [*column.labels(), *(["missing"] if column.missing_level else [])]
    levels = [Level(*one) for one in zip(labels, data, samples, strict=True)]
    if isinstance(column, NumberColumn):
        order = column.bins.order()
        return Marginal(
            column.name, difference, None, [levels[i] for i in order] + levels[len(order) :]
        )
    if len(levels) > SHOWN_LEVELS:
        levels.sort(key=lambda level: -level.data)
        rest = levels[SHOWN_LEVELS - 1 :]
        joined = Level(
            f"{len(rest)} more", sum(one.data for one in rest), sum(one.samples for one in rest)
        )
        levels = [*levels[: SHOWN_LEVELS - 1], joined]
    return Marginal(column.name, difference, None, levels)
