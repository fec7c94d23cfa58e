"""The plots of a table's page."""

from collections.abc import Sequence
from typing import TypeGuard

import numpy as np
import numpy.typing as npt
from markupsafe import Markup, escape
from matplotlib.axes import Axes

from wakesleep.report.svg import colour, plain, plot_svg
from wakesleep.schema import Column, NumberColumn

CELL = 18
"""The side of a heat map's cell."""
NAME = 130
"""The room for names, some 18 letters."""
LETTERS = 18


def is_histogram(column: Column) -> TypeGuard[NumberColumn]:
    """Whether a column is best shown along a number line."""
    if not isinstance(column, NumberColumn) or column.missing_level or column.unit is not None:
        return False
    bins = column.bins
    return not len(bins.atoms) and len(bins.lower) > 1 and bool((bins.upper > bins.lower).all())


def histogram(column: NumberColumn, data: Sequence[float], samples: Sequence[float]) -> Markup:
    """Densities of data and samples, bin by bin."""
    bins = column.bins
    edges = np.concatenate([bins.lower[:1], bins.cuts, bins.upper[-1:]])
    width = np.diff(edges)

    def draw(axes: Axes) -> None:
        axes.stairs(np.array(data) / width, edges, fill=True, alpha=0.45, label="data")
        axes.stairs(np.array(samples) / width, edges, color=colour(1), lw=2, label="samples")
        axes.set(title=plain(column.name), yticks=[], ylim=(0, None))

    return plot_svg(draw, f"Histogram of {column.name} in data and samples")


def distance_figure(samples: Sequence[float], held_out: Sequence[float]) -> Markup:
    """How far rows are from the nearest training row."""

    def draw(axes: Axes) -> None:
        edges = np.linspace(0, max(*samples, *held_out, 1e-3), 26)
        for values, label, fill in ((held_out, "held-out rows", True), (samples, "samples", False)):
            shares = np.histogram(values, edges)[0] / len(values)
            style = {"alpha": 0.45} if fill else {"color": colour(1), "lw": 2}
            axes.stairs(shares, edges, fill=fill, label=label, **style)
        axes.set(xlabel="distance to the nearest training row", ylabel="share of rows")

    return plot_svg(draw, "Distances of samples and held-out rows to the nearest training row")


def heat_map(
    names: Sequence[str], values: npt.NDArray[np.float64], title: str, full: float = 1.0
) -> Markup:
    """A square of numbers, each named for those who point at it; full colour at ±`full`."""
    count = len(names)
    side = NAME + CELL * count + 4
    parts = [
        f'<svg role="img" class="map" aria-label="{escape(title)}: association of columns" '
        f'viewBox="0 0 {side} {CELL * count + 46}">',
        f'<text x="{NAME}" y="16" class="title">{escape(title)}</text>',
    ]
    for i, name in enumerate(names):
        y = 46 + CELL * i
        shown = name if len(name) <= LETTERS else name[: LETTERS - 1] + "…"
        parts.append(
            f'<text x="{NAME - 4}" y="{y + 13}" text-anchor="end">{escape(shown)} {i + 1}</text>'
            f'<text x="{NAME + CELL * i + CELL / 2}" y="40" text-anchor="middle">{i + 1}</text>'
        )
        for j, other in enumerate(names):
            value = 0.0 if i == j else float(values[i, j])
            fill = colour(0) if value >= 0 else colour(1)
            parts.append(
                f'<rect x="{NAME + CELL * j}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" '
                f'fill="{fill}" fill-opacity="{min(1.0, abs(value) / full):.3f}">'
                f"<title>{escape(name)}, {escape(other)}: {value:.2f}</title></rect>"
            )
    frame = f'x="{NAME - 1}" y="45" width="{CELL * count + 1}" height="{CELL * count + 1}"'
    parts.append(f'<rect {frame} fill="none" stroke="currentColor" stroke-opacity="0.25"/></svg>')
    return Markup("".join(parts))
