"""The table of an arena: our number beside what others have on the same rows, published or run."""

from collections.abc import Mapping
from typing import Any

from wakesleep.reproduce.experiments import Experiment, Row


def arena_table(
    experiment: Experiment, results: Mapping[str, Any], rivals: Mapping[str, Any]
) -> str:
    """One line for each row; lower is better, and a positive lead is ours.

    `rivals` are those of each row that were run on the same rows.
    """
    names = list(dict.fromkeys(name for row in experiment.rows for name in row.published))
    run = list(dict.fromkeys(name for each in rivals.values() for name in each))
    heads = ["set", "ours", *names, *(f"{name}, run here" for name in run), "lead", "K", "model"]
    heads += ["minutes of training", "seconds to score 1,000 rows", "commit"]
    lines = [_joined(heads), _joined(["---"] * len(heads)).replace(" ", "")]
    for row in experiment.rows:
        own = rivals.get(row.name, {})
        others = [_number(row.published.get(name)) for name in names]
        others += [_number(own[name]["nll"] if name in own else None) for name in run]
        lines.append(_line(row, results.get(row.name), others))
    return "\n".join(lines) + "\n"


def lead(row: Row, nll: float) -> float | None:
    """By how much the best published number is above ours; None where none is published."""
    return min(row.published.values()) - nll if row.published else None


def _line(row: Row, result: Mapping[str, Any] | None, others: list[str]) -> str:
    if result is None:
        return _joined([row.name, row.no_result, *others, *[""] * 6])
    examples = result["evaluation"]["examples"]
    ahead = lead(row, result["nll"])
    cells = [
        row.name,
        f"{result['nll']:.2f} ± {result['interval']:.2f}",
        *others,
        "" if ahead is None else f"{ahead:+.2f}",
        "exact" if result["evaluation"]["method"] == "exact" else f"{result['samples']:,}",
        # A bar between kinds of layers would end the cell.
        f"`{result['model']}`".replace("|", "\\|"),
        f"{result['training_seconds'] / 60:.1f}",
        f"{1000 * result['evaluation_seconds'] / examples:.1f}",
        f"`{result['commit']}`",
    ]
    return _joined(cells)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _joined(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
