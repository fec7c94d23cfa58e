"""docs/benchmarks-arena.md, from what was measured. No JAX here."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.tables.record import Store
from wakesleep.atomic import write_atomically
from wakesleep.reproduce.experiments import load_experiment

HEAD = """\
# The arena: exact circuits, and us

Made by `python -m benchmarks.arena` from `results/benchmarks/arena/measured.jsonl`. How good our
default is on the DEBD sets stands in [the results](results.md); this page has what circuits are
liked for: they are exact, and they answer questions about some of the columns as easily as about
all of them. Ours is the model that `wakesleep reproduce debd` trained, beside a Chow-Liu tree and
SPFlow's LearnSPN, both learned on the same training rows. LearnSPN is as it comes but for the
G-test of its paper and smoothed leaves: without them it fails on columns that are constant in a
cluster.

- **Log-likelihood**: mean over {rows} test rows, evenly spaced, in nats; higher is better. Where
  ours is not exact there are two numbers: from below (`log_likelihood`, K = {samples:,}, low on
  average) and from above (`upper_log_likelihood`: two chains of four rounds of 250 samples, high on
  average once a chain is at the posterior; [what that means](howto/evaluate.md#from-above)).
- **Marginal**: log p of a random half of the columns, another half for each row. A mixture of NADEs
  is not exact there, because columns that are not known have to be drawn: again two numbers.
- **Conditional**: log p of one column given that half, from the scores of both its states.
- **Seconds** are processor-seconds for 1,000 rows, compiling not counted. A conditional takes two
  scores.
"""
QUESTIONS = ("log-likelihood", "marginal", "conditional")


def write_page(store: Store, docs: Path) -> None:
    """The page, if there is anything to say."""
    lines = [line for line in store.rows() if line["part"] == "arena"]
    if lines:
        write_atomically(docs / "benchmarks-arena.md", page(lines).encode())


def page(lines: list[Mapping[str, Any]]) -> str:
    """The text: set after set as they stand in the results, ours first."""
    sets = [row.name for row in load_experiment("debd").rows]
    lines = sorted(lines, key=lambda line: (sets.index(line["table"]), line["method"] != "ours"))
    answered = [line for line in lines if "values" in line]
    samples = [line["values"]["samples"] for line in answered if "samples" in line["values"]]
    rows = [line["values"]["rows"] for line in answered]
    head = HEAD.format(rows=max(rows, default=0), samples=max(samples, default=0))
    heads = ["set", "model", *QUESTIONS, *(f"seconds: {name}" for name in QUESTIONS)]
    heads += ["seconds of training", "commit"]
    table = [_joined(heads), _joined(["---"] * len(heads)).replace(" ", "")]
    table += [_joined(_cells(line)) for line in answered]
    missing = [
        f"- {line['table']}, {line['method']}: {line['not_asked']}."
        for line in lines
        if "not_asked" in line
    ]
    measured = {(line["table"], line["method"]) for line in lines}
    pairs = product(sets, dict.fromkeys(line["method"] for line in lines))
    missing += [
        f"- {name}, {who}: not measured." for name, who in pairs if (name, who) not in measured
    ]
    unasked = "\nNot asked:\n\n" + "\n".join(missing) + "\n" if missing else ""
    return f"{head}\n" + "\n".join(table) + f"\n{unasked}"


def _cells(line: Mapping[str, Any]) -> list[str]:
    values = line["values"]
    training = values.get("training seconds")
    return [
        line["table"],
        line["method"],
        *(_sides(values, name) for name in QUESTIONS),
        *(f"{values[f'{name} seconds']:.2g}" for name in QUESTIONS),
        "see results" if training is None else f"{training:.2g}",
        f"`{line['commit']}`",
    ]


def _sides(values: Mapping[str, Any], name: str) -> str:
    """One number, or where they differ both sides of it."""
    lower, upper = values[name], values.get(f"{name}, upper")
    digits = 4 if name == "conditional" else 2
    if upper is None or upper == lower:
        return f"{lower:.{digits}f}"
    return f"{lower:.3f} to {upper:.3f}"


def _joined(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
