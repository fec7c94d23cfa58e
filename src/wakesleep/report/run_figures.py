"""The plots of a run's page."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from wakesleep.evaluation.result import LogLikelihood
from wakesleep.evaluation.tail import UNRELIABLE
from wakesleep.report.run_view import Record, RunView
from wakesleep.report.svg import INK, colour, plain, plot_svg
from wakesleep.runs.latent_use import ALIVE, LayerUse

LIKELIHOODS = {
    "train_ll": "train",
    "valid_ll": "validation",
    "valid_ll_average": "validation, averaged weights",
}


def learning_figures(records: Sequence[Record]) -> list[Markup]:
    """Log-likelihoods, throughput and, with latents, effective samples and KL per layer."""
    plots = [(_likelihoods, "Log-likelihood by epoch")]
    if records[-1]["kl"]:
        plots.append((_ess, "Effective sample size in training by epoch"))
        plots.append((_kl, "KL divergence of each latent layer by epoch"))
    plots.append((_throughput, "Training throughput by epoch"))
    return [plot_svg(partial(draw, records=records), about) for draw, about in plots]


def likelihood_figures(score: LogLikelihood) -> list[Markup]:
    """Histograms over the examples of an evaluation; what was not measured is left out."""
    histograms = (
        (score.values, _values, "Histogram of the examples' log-likelihoods"),
        (score.effective_samples, _effective, "Histogram of the examples' effective sample sizes"),
        (score.pareto_k, _pareto, "Histogram of the examples' Pareto k"),
    )
    drawn = []
    for values, draw, alternative in histograms:
        known = values[np.isfinite(values)]
        if len(known):
            drawn.append(plot_svg(_histogram(draw, known), alternative))
    return drawn


def activity_figure(uses: Sequence[LayerUse]) -> Markup:
    """Every unit's activity, in falling order, layer by layer."""

    def draw(axes: Axes) -> None:
        for number, use in enumerate(uses, start=1):
            values = np.maximum(np.sort(use.activity)[::-1], 1e-6)
            axes.plot(np.arange(1, use.units + 1), values, label=f"layer {number}", marker=".")
        axes.axhline(ALIVE, color=INK, lw=1, ls="--")
        axes.set(yscale="log", xlabel="unit, in falling order", ylabel="variance of E[h | x]")
        axes.set_title("Activity of the latent units")

    return plot_svg(draw, "Activity of every latent unit, with the line above which it is alive")


def comparison_figures(runs: Sequence[RunView]) -> list[Markup]:
    """The curves of several runs, coloured as the page's table says."""
    return [
        plot_svg(lambda axes: _validation(axes, runs, by_time=False), "Log-likelihood by epoch"),
        plot_svg(lambda axes: _validation(axes, runs, by_time=True), "Log-likelihood by time"),
        plot_svg(lambda axes: _all_ess(axes, runs), "Effective sample size by epoch"),
    ]


def compared_curves(axes: Axes, runs: Sequence[RunView]) -> None:
    """Validation log-likelihoods by epoch with a legend, for a file of its own."""
    _validation(axes, runs, by_time=False, labelled=True)


def _likelihoods(axes: Axes, records: Sequence[Record]) -> None:
    for name, label in LIKELIHOODS.items():
        epochs, values = _known(records, name)
        if values:
            axes.plot(epochs, values, label=label, marker=_marker(values))
    axes.set(xlabel="epoch", ylabel="nats", title="Log-likelihood")


def _ess(axes: Axes, records: Sequence[Record]) -> None:
    epochs, values = _known(records, "effective_samples")
    axes.plot(epochs, values, color=colour(2), marker=_marker(values))
    axes.set(xlabel="epoch", ylabel="samples", title="Effective sample size in training")


def _kl(axes: Axes, records: Sequence[Record]) -> None:
    epochs, values = _known(records, "kl")
    for number, layer in enumerate(zip(*values, strict=True), start=1):
        axes.plot(epochs, layer, label=f"layer {number}", marker=_marker(values))
    axes.set(xlabel="epoch", ylabel="nats", title="KL per latent layer")


def _throughput(axes: Axes, records: Sequence[Record]) -> None:
    epochs, values = _known(records, "examples_per_second")
    axes.plot(epochs, values, color=colour(5), marker=_marker(values))
    axes.set(xlabel="epoch", ylabel="examples per second", title="Throughput", ylim=(0, None))


def _validation(
    axes: Axes, runs: Sequence[RunView], *, by_time: bool, labelled: bool = False
) -> None:
    for index, run in enumerate(runs):
        epochs, values = _known(run.records, _judged(run))
        seconds = np.cumsum([record["seconds"] for record in run.records])
        label = plain(run.name) if labelled else None
        across = seconds if by_time else epochs
        axes.plot(across, values, color=colour(index), label=label, marker=_marker(values))
    axes.set(xlabel="seconds of training" if by_time else "epoch", ylabel="nats")
    axes.set_title("Validation log-likelihood")


def _judged(run: RunView) -> str:
    """The curve a run is judged by: validation, or training where there is none."""
    for name in ("valid_ll_average", "valid_ll"):
        if all(record[name] is not None for record in run.records):
            return name
    return "train_ll"


def _all_ess(axes: Axes, runs: Sequence[RunView]) -> None:
    for index, run in enumerate(runs):
        epochs, values = _known(run.records, "effective_samples")
        axes.plot(epochs, values, color=colour(index), marker=_marker(values))
    axes.set(xlabel="epoch", ylabel="samples", title="Effective sample size in training")


def _known(records: Sequence[Record], name: str) -> tuple[list[int], list[Any]]:
    known = [record for record in records if record[name] is not None]
    return [record["epoch"] for record in known], [record[name] for record in known]


def _marker(values: Sequence[Any]) -> str:
    """A single epoch makes no line: show its point."""
    return "o" if len(values) == 1 else ""


def _histogram(draw: Any, values: npt.NDArray[np.float64]) -> Any:
    def drawn(axes: Axes) -> None:
        draw(axes, values)
        axes.set_ylabel("examples")

    return drawn


def _values(axes: Axes, values: npt.NDArray[np.float64]) -> None:
    axes.hist(values, bins=40, color=colour(0))
    axes.set(xlabel="log p(x), nats", title="Log-likelihood of the examples")


def _effective(axes: Axes, values: npt.NDArray[np.float64]) -> None:
    low, high = max(1.0, values.min()), max(values.max(), 1.01)
    axes.hist(values, bins=np.geomspace(0.999 * low, 1.001 * high, 41).tolist(), color=colour(2))
    axes.set(xscale="log", xlabel="effective samples", title="Effective sample size")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _pareto(axes: Axes, values: npt.NDArray[np.float64]) -> None:
    axes.hist(values, bins=40, color=colour(3))
    axes.axvline(UNRELIABLE, color=INK, lw=1, ls="--")
    axes.set(xlabel=f"k; unreliable beyond the line at {UNRELIABLE}", title="Pareto k")
