"""The paper's figures, drawn from result files."""

import io
from collections.abc import Mapping
from typing import Any

from matplotlib import image as matplotlib_image
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from wakesleep.report.bias_figures import bias_figures
from wakesleep.reproduce.experiments import Experiment
from wakesleep.reproduce.store import ExperimentStore

DPI = 110


def figure_of(
    store: ExperimentStore, experiment: Experiment, results: Mapping[str, Any]
) -> bytes | None:
    """A PNG file's bytes; None for a table, or where nothing was run."""
    if not results or experiment.kind in ("table", "arena"):
        return None
    if experiment.kind == "bias":
        name = "gradient-bias.png" if experiment.name == "fig1b" else "log-likelihood-bias.png"
        return bias_figures(next(iter(results.values())))[name]
    if experiment.kind == "samples":
        return _pictures(store, experiment, results)
    if experiment.kind == "race":
        return _race(experiment, results)
    figure = Figure(figsize=(8.5, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    {"curve": _curve, "test-samples": _test_samples, "learning-curves": _learning_curves}[
        experiment.kind
    ](axes, store, experiment, results)
    if axes.get_xscale() == "log":
        axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    return _png(figure)


def _curve(
    axes: Axes, store: ExperimentStore, experiment: Experiment, results: Mapping[str, Any]
) -> None:
    """Fig. 1A: one line per architecture, with the intervals."""
    measured = [row for row in experiment.rows if row.name in results]
    for line in dict.fromkeys(row.line for row in measured):
        rows = [row for row in measured if row.line == line]
        points = [results[row.name] for row in rows]
        axes.errorbar(
            [float(row.x or 0) for row in rows],
            [-each["nll"] for each in points],
            yerr=[each["interval"] for each in points],
            marker="o",
            capsize=3,
            label=line,
        )
    axes.set(xscale="log", xlabel="training samples K", ylabel="test log-likelihood (nats)")


def _test_samples(
    axes: Axes, store: ExperimentStore, experiment: Experiment, results: Mapping[str, Any]
) -> None:
    """Fig. 2A, the paper's final number as a level where its tables give one."""
    for number, (name, result) in enumerate(results.items()):
        color = f"C{number}"
        axes.semilogx(result["counts"], result["log_likelihood"], "o-", color=color, label=name)
        paper = store.source_of(experiment.row(name)).paper_nll
        if paper is not None:
            axes.axhline(-paper, color=color, linestyle=":", label=f"the paper's: {-paper:g}")
    axes.set(xlabel="test samples K", ylabel="log-likelihood (nats)")


def _learning_curves(
    axes: Axes, store: ExperimentStore, experiment: Experiment, results: Mapping[str, Any]
) -> None:
    """The supplement's learning curves, broken where K changes: values across it do not compare."""
    for number, (name, result) in enumerate(results.items()):
        counts = result["validation_samples"]
        for count in dict.fromkeys(counts):
            at = [i for i, each in enumerate(counts) if each == count]
            axes.plot(
                [result["epoch"][i] for i in at],
                [result["valid_ll"][i] for i in at],
                color=f"C{number}",
                linestyle="-" if count == counts[0] else "--",
                label=f"{name} (K = {count})",
            )
    best = max(max(result["valid_ll"]) for result in results.values())
    axes.set(xlabel="epoch", ylabel="validation log-likelihood (nats)", ylim=(best - 30, best + 2))


def curves_of(curves: Mapping[str, Mapping[str, list[float]]]) -> bytes | None:
    """A PNG file's bytes: the validation score of every row against processor-minutes."""
    if not curves:
        return None
    across = 4
    down = -(-len(curves) // across)
    figure = Figure(figsize=(11, 2.6 * down), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for axes, (name, curve) in zip(panels, curves.items(), strict=False):
        minutes = [seconds / 60 for seconds in curve["processor_seconds"]]
        axes.plot(minutes, curve["valid_ll"], ".-")
        axes.set_title(name, fontsize="small")
        axes.grid(visible=True, alpha=0.3)
    for axes in panels[len(curves) :]:
        axes.set_axis_off()
    figure.supxlabel("processor-minutes of training", fontsize="small")
    figure.supylabel("validation log-likelihood (nats)", fontsize="small")
    return _png(figure)


def _race(experiment: Experiment, results: Mapping[str, Any]) -> bytes:
    """For every model, the validation score against processor-seconds and samples scored."""
    rows = [row for row in experiment.rows if row.name in results]
    models = list(dict.fromkeys(row.line for row in rows))
    # A name is "MODEL: ESTIMATOR"; an estimator has one look in all panels.
    estimators = {row.name: row.name.split(": ")[-1] for row in rows}
    each_once = dict.fromkeys(estimators.values())
    looks = {each: f"C{n % 10}{'-' if n < 10 else '--'}" for n, each in enumerate(each_once)}
    figure = Figure(figsize=(11, 4.2 * len(models)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(models), 2, squeeze=False, sharey="row")
    for model, pair in zip(models, panels, strict=True):
        lines = [(row, results[row.name]["curve"]) for row in rows if row.line == model]
        best = max(max(curve["valid_ll"]) for _, curve in lines)
        for axes, across in zip(pair, ("processor_seconds", "samples_scored"), strict=True):
            for row, curve in lines:
                estimator = estimators[row.name]
                axes.plot(curve[across], curve["valid_ll"], looks[estimator], label=estimator)
            axes.set(xlabel=across.replace("_", " "), title=model, ylim=(best - 30, best + 2))
            axes.grid(visible=True, alpha=0.3)
        pair[0].set(ylabel="validation log-likelihood (nats)")
        pair[1].set(xscale="log")
        pair[1].legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    return _png(figure)


def _pictures(store: ExperimentStore, experiment: Experiment, results: Mapping[str, Any]) -> bytes:
    """The grids of samples side by side."""
    rows = [row for row in experiment.rows if row.name in results]
    figure = Figure(figsize=(4.2 * len(rows), 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, row in zip(figure.subplots(1, len(rows), squeeze=False)[0], rows, strict=True):
        axes.imshow(matplotlib_image.imread(store.result_path(row, ".png")), cmap="gray")
        axes.set(title=row.name, xticks=[], yticks=[])
    return _png(figure)


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    return buffer.getvalue()
