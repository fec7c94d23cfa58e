"""The curves of several runs as a picture of its own."""

import io
from collections.abc import Sequence
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from wakesleep.atomic import write_atomically
from wakesleep.report.run_figures import compared_curves
from wakesleep.report.run_view import RunView


def save_curves(path: Path, runs: Sequence[RunView]) -> None:
    """Write the validation log-likelihoods by epoch to a .png or .svg file."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    compared_curves(axes, runs)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix.removeprefix("."), dpi=130)
    write_atomically(path, buffer.getvalue())
