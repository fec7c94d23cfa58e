"""Plots as SVG text inside a page: they take the page's text colour, so dark mode works."""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

COLOURS = ("#3b82f6", "#f97316", "#10b981", "#a855f7", "#ef4444", "#0891b2", "#ca8a04", "#ec4899")
"""Readable on white and on black."""

INK = "#010203"
"""Stands for the page's text colour until the SVG is written."""

Draw = Callable[[Axes], None]


def plot_svg(draw: Draw, alternative: str) -> Markup:
    """One plot as an inline <svg>, with a text for those who cannot see it."""
    with _style(alternative):
        figure = Figure(figsize=(4.6, 3.0), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots()
        axes.set_prop_cycle(color=COLOURS)
        draw(axes)
        axes.grid(visible=True, alpha=0.2, color=INK)
        axes.spines[["top", "right"]].set_visible(False)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(frameon=False)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return _inline(buffer.getvalue().decode(), alternative)


def plain(label: str) -> str:
    """A name that matplotlib draws as it stands: no formulas, nothing hidden."""
    return label.replace("$", r"\$").removeprefix("_") or "-"


def colour(index: int) -> str:
    """The colour of the index-th curve."""
    return COLOURS[index % len(COLOURS)]


@contextmanager
def _style(salt: str) -> Iterator[None]:
    # The salt makes the ids inside an SVG its own: several share one page, and each is the same
    # in every run.
    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "font.size": 10,
        "axes.titlesize": 11,
        **dict.fromkeys(
            ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK
        ),
    }
    with matplotlib.rc_context(settings):
        yield


def _inline(text: str, alternative: str) -> Markup:
    """The element alone: no prologue, no metadata, no fixed size."""
    body = text[text.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    (box,) = re.findall(r'viewBox="([^"]+)"', body)
    body = body[body.index(">") + 1 :].replace(INK, "currentColor")
    label = escape(alternative)
    return Markup(f'<svg role="img" aria-label="{label}" viewBox="{box}">{body}')
