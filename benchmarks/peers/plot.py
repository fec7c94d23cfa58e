"""The benchmark's picture: how many times wakesleep's time each peer takes, and growth."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

Row = dict[str, Any]
SHOWN = ("step", 25, 5)
"""Task, batch and K of the bars."""


def draw(best: dict, growth: list[Row], value_of: Callable[[Row], int], path: Path) -> None:
    figure = plt.figure(figsize=(10, 7 if growth else 4), layout="constrained")
    if growth:
        above, below = figure.subfigures(2, 1, height_ratios=(3, 2))
        draw_growth(below, growth, value_of)
    else:
        above = figure
    draw_ratios(above.subplots(), best)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_ratios(axes: Axes, best: dict) -> None:
    """One group of bars per model."""
    chosen = {
        architecture: columns
        for (task, architecture, batch, samples), columns in best.items()
        if (task, batch, samples) == SHOWN and measured(columns.get("wakesleep"))
    }
    peers = dict.fromkeys(p for columns in chosen.values() for p in columns if p != "wakesleep")
    width = 0.8 / max(len(peers), 1)
    for number, peer in enumerate(peers):
        places = [i for i, c in enumerate(chosen.values()) if measured(c.get(peer))]
        ratios = [
            c[peer]["ms"] / c["wakesleep"]["ms"] for c in chosen.values() if measured(c.get(peer))
        ]
        # From 1 up or down: a logarithmic scale has no other base for a bar.
        heights, left = [ratio - 1 for ratio in ratios], [i + number * width for i in places]
        bars = axes.bar(left, heights, width, bottom=1, label=peer)
        axes.bar_label(bars, [f"{ratio:.1f}" for ratio in ratios], fontsize=8)
    axes.axhline(1, color="black", linewidth=1)
    axes.set_xticks([i + 0.4 - width / 2 for i in range(len(chosen))], list(chosen), fontsize=8)
    axes.set(yscale="log", ylabel="time / wakesleep's", title="Training step, batch 25, K = 5")
    axes.legend(fontsize=8)


def draw_growth(figure: Figure, growth: list[Row], value_of: Callable[[Row], int]) -> None:
    """One panel per axis."""
    names = list(dict.fromkeys(row["axis"] for row in growth))
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, names, strict=True):
        for peer in dict.fromkeys(row["peer"] for row in growth):
            rows = [r for r in growth if (r["peer"], r["axis"]) == (peer, name) and r["ms"]]
            values = [value_of(row) for row in rows]
            axes.plot(values, [row["ms"] for row in rows], marker="o", label=peer)
        axes.set(xscale="log", yscale="log", xlabel=name)
        axes.set_xticks(values, map(str, values))
        axes.minorticks_off()
    panels[0].set_ylabel("ms per step")
    panels[0].legend(fontsize=8)


def measured(row: Row | None) -> bool:
    return row is not None and bool(row["ms"])
