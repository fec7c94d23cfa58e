"""docs/results.md and its figures, made from the result files alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wakesleep.atomic import write_atomically
from wakesleep.inference.normaliser import Normaliser
from wakesleep.reproduce.arena import arena_table
from wakesleep.reproduce.drawing import curves_of, figure_of
from wakesleep.reproduce.experiments import FIGURES, Experiment, Row, experiment_names
from wakesleep.reproduce.judging import remarks_on
from wakesleep.reproduce.rivals import rivals_of
from wakesleep.reproduce.store import ExperimentStore

INTRODUCTION = """\
# The paper's results, and ours

Made by `wakesleep reproduce --docs docs`: every number of a table or figure from the files in
`results/` alone, the remarks on what was tried from the recipes in `experiments/`. NLL is in nats
per example on the whole test set, or on the random rows of it that column K speaks of, estimated
with K samples per example unless K is "exact"; ± is half the 95% interval (choice of test examples,
Monte-Carlo noise and estimated bias together).
Annealed examples are those whose samples of q were too uneven: they were moved from q to p in small
steps, and every state so visited counts as a sample. Every row names the command that makes it:
`wakesleep reproduce EXPERIMENT --row "ROW"`; its JSON file has recipe, seed and machine. A lower
NLL is better, so a negative difference is a gain over the paper.
"""

TABLE_HEAD = (
    "| row | paper | ours | difference | at or below the paper? | K | epochs | minutes | commit |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def write_document(store: ExperimentStore, docs: Path) -> None:
    """Write results.md and figures/*.png into `docs`."""
    write_atomically(docs / "results.md", document(store).encode())
    for experiment, results in _experiments(store):
        pictures = {
            experiment.name: figure_of(store, experiment, results),
            f"{experiment.name}-missed": curves_of(_missed_curves(experiment, results)),
        }
        for name, picture in pictures.items():
            if picture:
                write_atomically(docs / "figures" / f"{name}.png", picture)


def document(store: ExperimentStore) -> str:
    """The text of results.md."""
    parts = [INTRODUCTION]
    parts += [_section(store, *loaded) for loaded in _experiments(store)]
    return "\n".join(parts)


def _experiments(store: ExperimentStore) -> list[tuple[Experiment, dict[str, Any]]]:
    loaded = [store.experiment(name) for name in experiment_names()]
    return [
        (each, {row.name: result for row in each.rows if (result := store.result(row))})
        for each in loaded
    ]


def _section(store: ExperimentStore, experiment: Experiment, results: Mapping[str, Any]) -> str:
    head = f"## {experiment.title}\n\n`wakesleep reproduce {experiment.name}`. {experiment.about}\n"
    if experiment.kind in FIGURES:
        return f"{head}\n{_figure_text(experiment, results)}\n"
    if experiment.kind == "arena":
        table = arena_table(experiment, results, rivals_of(store, experiment))
        return f"{head}\n{table}{_tried(store, experiment)}"
    rows = "\n".join(_line(row, results.get(row.name)) for row in experiment.rows)
    table = f"{TABLE_HEAD}\n{rows}\n"
    if experiment.kind in ("curve", "race") and results:
        table += f"\n![{experiment.title}](figures/{experiment.name}.png)\n"
    remarks = _tried(store, experiment) + _missed(experiment, results)
    return f"{head}\n{_data_line(results)}{table}{_normalisers(results)}{remarks}"


def _normalisers(results: Mapping[str, Any]) -> str:
    """log Z from both sides of every row that has one, and what the NLL is with either."""
    known = {
        name: (result["nll"], result["evaluation"]["log_normaliser"])
        for name, result in results.items()
        if "log_normaliser" in result["evaluation"]
    }
    lines = [f"- {name}: {_both_sides(*each)}" for name, each in known.items()]
    head = "\nlog Z from both sides, with standard errors, and the NLL that goes with each:\n\n"
    return head + "\n".join(lines) + "\n" if lines else ""


def _both_sides(nll: float, log_z: Mapping[str, Any]) -> str:
    middle = Normaliser(**log_z).value
    sides = [
        f"{log_z[side]:.2f} ± {log_z[f'{side}_error']:.2f} (NLL {nll + log_z[side] - middle:.2f})"
        for side in ("lower", "upper")
    ]
    return f"{sides[0]} from below, {sides[1]} from above"


def _missed(experiment: Experiment, results: Mapping[str, Any]) -> str:
    """What would be tried next for rows above the paper's number, and their learning curves."""
    rows = _above_the_paper(experiment, results)
    plans = [f"- {row.name}: {row.next}" for row in rows if row.next]
    text = "\nNot reached yet, and what would be tried next:\n\n" + "\n".join(plans) + "\n"
    curves = _missed_curves(experiment, results)
    picture = f"\n![Learning curves of the rows above](figures/{experiment.name}-missed.png)\n"
    return (text if plans else "") + (picture if curves else "")


def _above_the_paper(experiment: Experiment, results: Mapping[str, Any]) -> list[Row]:
    return [
        row
        for row in experiment.rows
        if row.paper_nll is not None
        and row.name in results
        and results[row.name]["nll"] > row.paper_nll
    ]


def _missed_curves(
    experiment: Experiment, results: Mapping[str, Any]
) -> dict[str, Mapping[str, list[float]]]:
    """Name to learning curve; results that were made before curves were kept have none."""
    if experiment.kind != "table":
        return {}
    rows = _above_the_paper(experiment, results)
    return {row.name: results[row.name]["curve"] for row in rows if "curve" in results[row.name]}


def _tried(store: ExperimentStore, experiment: Experiment) -> str:
    remarks = [f"- {row.name}: {row.tried}" for row in experiment.rows if row.tried]
    remarks += remarks_on(store, experiment.rows)
    head = "\nTried on the way:\n\n"
    return head + "\n".join(remarks) + "\n" if remarks else ""


def _data_line(results: Mapping[str, Any]) -> str:
    data = sorted({f"{result['data']} ({result['binarisation']})" for result in results.values()})
    return f"Data: {'; '.join(data)}.\n\n" if data else ""


def _line(row: Row, result: Mapping[str, Any] | None) -> str:
    paper = "-" if row.paper_nll is None else f"{row.paper_nll:.2f}"
    if result is None:
        return f"| {row.name} | {paper} | {row.no_result} | | | | | | |"
    cells = [
        row.name,
        paper,
        f"{result['nll']:.2f} ± {result['interval']:.2f}",
        "" if row.paper_nll is None else f"{result['nll'] - row.paper_nll:+.2f}",
        verdict(result["nll"], result["interval"], row.paper_nll),
        _samples(result) + _of_rows(row),
        str(result["epochs"]),
        f"{(result['training_seconds'] + result['evaluation_seconds']) / 60:.0f}",
        f"`{result['commit']}`",
    ]
    return f"| {' | '.join(cells)} |"


def verdict(nll: float, interval: float, paper: float | None) -> str:
    """How our number stands to the paper's."""
    if paper is None:
        return ""
    if nll <= paper:
        return "yes"
    return "within the interval" if nll - interval <= paper else "no"


def _samples(result: Mapping[str, Any]) -> str:
    if result["evaluation"]["method"] == "exact":
        return "exact"
    mean = result["evaluation"]["samples_per_example"]
    if not mean and "log_normaliser" in result["evaluation"]:
        return "exact but for log Z"
    if result["tolerance"] is None:
        return f"{result['samples']:,}"
    # Results of version 0.1 know no annealed runs.
    annealed = result["evaluation"].get("annealed_examples", 0) / result["evaluation"]["examples"]
    share = f", {annealed:.0%} annealed" if annealed else ""
    spent = f"tolerance {result['tolerance']:g}; {mean:,.0f} on average{share}"
    return f"up to {result['samples']:,} ({spent})"


def _of_rows(row: Row) -> str:
    return f", of {row.test_rows:,} random test rows" if row.test_rows else ""


def _figure_text(experiment: Experiment, results: Mapping[str, Any]) -> str:
    missing = [row.name for row in experiment.rows if row.name not in results]
    lines = []
    if results:
        lines.append(f"![{experiment.title}](figures/{experiment.name}.png)\n")
        made = ", ".join(
            f"{name} (`{result['commit']}`, seed {result['seed']})"
            for name, result in results.items()
        )
        lines.append(f"{_data_line(results)}Made from: {made}.")
    if missing:
        lines.append(f"Not run: {', '.join(missing)}.")
    return "\n".join(lines)
