"""The paper's bias and variance figures: 1B, 2A and the supplement's log p(x)."""

import io
from collections.abc import Callable, Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


def bias_figures(analysis: Mapping[str, Any]) -> dict[str, bytes]:
    """PNG files by name, from `BiasVariance.to_dict()`."""
    return {
        "gradient-bias.png": _figure(lambda axes: _gradient(axes, analysis)),
        "log-likelihood-by-samples.png": _figure(lambda axes: _likelihood(axes, analysis)),
        "log-likelihood-bias.png": _figure(lambda axes: _likelihood_bias(axes, analysis)),
    }


def _gradient(axes: Axes, analysis: Mapping[str, Any]) -> None:
    """Fig. 1B."""
    axes.loglog(analysis["counts"], analysis["gradient_bias"], "o-", label="bias")
    axes.loglog(
        analysis["counts"], analysis["gradient_deviation"], "s--", label="standard deviation"
    )
    axes.axhline(analysis["gradient_norm"], color="gray", lw=1, label="norm of the gradient itself")
    axes.set(xlabel="samples K", ylabel="L2 norm", title="Gradient of p, relative to all samples")
    axes.legend()


def _likelihood(axes: Axes, analysis: Mapping[str, Any]) -> None:
    """Fig. 2A."""
    axes.semilogx(analysis["counts"], analysis["log_likelihood"], "o-")
    axes.set(xlabel="samples K", ylabel="nats", title="Estimated log-likelihood")


def _likelihood_bias(axes: Axes, analysis: Mapping[str, Any]) -> None:
    """The supplement's figure."""
    bias = [abs(value) for value in analysis["log_likelihood_bias"]]
    axes.loglog(analysis["counts"], bias, "o-", label="bias (always low)")
    deviation = analysis["log_likelihood_deviation"]
    axes.loglog(analysis["counts"], deviation, "s--", label="standard deviation")
    axes.set(xlabel="samples K", ylabel="nats", title="log p(x), relative to all samples")
    axes.legend()


def _figure(draw: Callable[[Axes], None]) -> bytes:
    figure = Figure(figsize=(5.5, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    draw(axes)
    axes.grid(visible=True, which="major", alpha=0.3)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()
