"""Means and intervals over the splits, and who is best where, as a JSON file for each part."""

import json
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scipy.special import stdtrit

from benchmarks.tables.record import Row
from wakesleep import provenance

OURS = "ours"
NAMED = "sbn/sbn 10"
"""A model of ours that was named in place of the automatic default, `OURS`."""
LOWER_IS_BETTER = ("error", "rms")
NO_RIVALS = ("real rows", NAMED)
"""What real rows give is a yardstick, and what is named is ours too."""


def write_summaries(rows: list[Row], folder: Path) -> None:
    """A file for each part of which something was measured."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(row["part"] for row in rows):
        own = [row for row in rows if row["part"] == name]
        about = {"command": f"python -m benchmarks.tables --part {name}", "part": name}
        found = {**about, **provenance.machine(), **summary(own)}
        (folder / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


def summary(rows: list[Row]) -> Row:
    """Ours first, the others in the order in which they came."""
    tables = dict.fromkeys(row["table"] for row in rows)
    methods = dict.fromkeys([OURS, *(row["method"] for row in rows)])
    return {
        "commits": sorted({row["commit"] for row in rows}),
        "minutes": sorted({row["minutes"] for row in rows if "minutes" in row}),
        "seeds": "the number of the split, from 0",
        "interval": "95%, Student's t over the splits",
        "tables": {
            table: table_summary([row for row in rows if row["table"] == table], tuple(methods))
            for table in tables
        },
    }


def table_summary(rows: list[Row], methods: tuple[str, ...]) -> Row:
    """Over the splits that all methods have which could be asked here.

    A method that failed on some of them has its own, and is compared with nobody.
    """
    asked = [name for name in methods if any(_is(row, name) for row in rows)]
    of = {name: {row["split"]: row for row in rows if _is(row, name)} for name in asked}
    failed = {row["method"] for row in rows if "not_asked" in row}
    whole = [set(found) for name, found in of.items() if name not in failed]
    splits = sorted(set.intersection(*whole)) if whole else []
    metrics: dict[str, dict[str, Any]] = {}
    for name in asked:
        own = sorted(set(splits) & set(of[name]))
        for metric in _metrics(of[name], own):
            values = [of[name][split]["values"].get(metric) for split in own]
            seen = [value for value in values if value is not None]
            if seen:
                found = interval(seen) | ({} if own == splits else {"splits": len(own)})
                metrics.setdefault(metric, {})[name] = found
    return {
        "rows": rows[0]["rows"],
        "splits": splits,
        "seconds": {
            name: statistics.mean(row["seconds"] for row in of[name].values()) for name in asked
        },
        "chosen": {name: words for name in asked if (words := _chosen(of[name], splits))},
        "not_asked": {row["method"]: row["not_asked"] for row in rows if "not_asked" in row},
        "metrics": metrics,
    }


def _is(row: Row, method: str) -> bool:
    return row["method"] == method and "values" in row


WORDS = ("components", "features", "leaves", "model")
"""What is said about a fit and is no score of it."""


def _metrics(found: dict[int, Row], splits: list[int]) -> list[str]:
    names = [name for split in splits for name in found[split]["values"] if name not in WORDS]
    return list(dict.fromkeys(names))


def _chosen(found: dict[int, Row], splits: list[int]) -> list[str]:
    """In words, a text for each split."""
    texts = [
        ", ".join(f"{name} {values[name]}" for name in WORDS if name in values)
        for values in (found[split]["values"] for split in splits if split in found)
    ]
    return texts if any(texts) else []


def interval(values: list[float]) -> dict[str, Any]:
    """The mean and half of the interval's width; none for fewer than two values."""
    half = None
    if len(values) > 1:
        error = statistics.stdev(values) / len(values) ** 0.5
        half = float(stdtrit(len(values) - 1, 0.975)) * error
    return {"mean": statistics.fmean(values), "half_width": half, "values": values}


def better(metric: str, a: float, b: float) -> bool:
    return a < b if metric.startswith(LOWER_IS_BETTER) else a > b


def best_rival(metric: str, found: Mapping[str, Any]) -> str | None:
    """The best method that is not ours, by the mean."""
    rivals = [name for name in found if name not in (OURS, *NO_RIVALS)]
    rivals = [name for name in rivals if "splits" not in found[name]]
    if not rivals:
        return None
    sign = 1 if metric.startswith(LOWER_IS_BETTER) else -1
    return min(rivals, key=lambda name: sign * found[name]["mean"])


def verdict(metric: str, found: Mapping[str, Any]) -> str:
    """Of our mean: "best", "within" the interval of the best rival, or "behind"."""
    rival = best_rival(metric, found)
    if rival is None or OURS not in found:
        return ""
    ours, theirs = found[OURS]["mean"], found[rival]
    if ours == theirs["mean"] or better(metric, ours, theirs["mean"]):
        return "best"
    half = theirs.get("half_width")
    near = half is not None and abs(ours - theirs["mean"]) <= half
    return "within" if near else "behind"
