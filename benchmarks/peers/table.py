"""The peers' part of the docs' page on speed, from their results file alone."""

import math
from typing import Any

Row = dict[str, Any]
Best = dict[tuple, dict[str, Row]]
"""By task, architecture, batch and K, then by column: the fastest variant."""

COLUMNS = {
    "wakesleep": "wakesleep",
    "PyTorch, autograd": "torch-autograd",
    "PyTorch, derived gradients": "torch-derived",
    "Pyro": "pyro",
    "JAX, `lax.scan`": "jax-scan",
}
COLUMN_OF = {peer: column for column, peer in COLUMNS.items()}
COLUMN_OF["torch-compiled"] = COLUMN_OF["torch-derived"]

INTRODUCTION = """\
Times are medians of at least five repetitions, in milliseconds; in brackets, how many times
wakesleep's (`results/benchmarks/peers.json`).

- A **training step** is the gradients of wake-p, wake-q and sleep-q with one dream per example,
  and Adam's update. An **evaluation** is log p̂(x) of {evaluated} examples with K samples each.
  784 visible units; random bits, 13% of them ones as in MNIST.
- Every peer was first given the same parameters, latents and dreams as wakesleep: its gradients
  and log p̂(x) agreed within a relative {largest:.0e} (allowed: {tolerance:.0e}).
- wakesleep steps in its compiled loop, which also sums training metrics, on all cores; its
  evaluation also gives errors, bias and Pareto k. PyTorch and Pyro have the better of one thread
  and all, and a fused Adam; JAX's `lax.scan` the better of one core and all.
- *Derived gradients* are written by hand, without autograd; the better of eager and
  `torch.compile` ("c"). A NADE is a loop over its units there, which is not compiled.
- Pyro normalises the importance weights over the whole batch and not for each example, so its
  gradients agree for a batch of one only. What it computes per sample is the same work.
- *of sgemm*: the rate of wakesleep's arithmetic (products with weights alone, counted by
  `wakesleep/training/work.py`) over that of one large matrix product, {limit:.0f} GFLOP/s in the
  same run.
"""


def best_rows(rows: list[Row]) -> Best:
    found: Best = {}
    for row in rows:
        place = found.setdefault(what(row), {})
        column = COLUMN_OF[row["peer"]]
        before = place.get(column)
        if before is None or (row["ms"] or math.inf) < (before["ms"] or math.inf):
            place[column] = row
    return found


def what(row: Row) -> tuple:
    return row["task"], row["architecture"], row["batch"], row["samples"]


def comparison_table(best: Best, task: str) -> list[str]:
    batch = ["batch"] if task == "step" else []
    header = ["model", *batch, "K", "wakesleep", "of sgemm", *list(COLUMNS)[1:]]
    lines = [line(header), line(["---"] + ["--:"] * (len(header) - 1))]
    for (of_task, architecture, size, samples), columns in best.items():
        if of_task == task:
            ours = columns.get("wakesleep")
            cells = [cell(columns.get(name), ours) for name in list(COLUMNS)[1:]]
            place = [architecture, *([size] if batch else []), samples]
            lines.append(line([*place, cell(ours, None), fraction(ours), *cells]))
    return lines


def line(cells: list[Any]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def cell(row: Row | None, ours: Row | None) -> str:
    if row is None:
        return "—"
    if row["ms"] is None:
        return f"not run ({row['not_run']})"
    mark = " c" if row["peer"] == "torch-compiled" else ""
    ratio = f" ({row['ms'] / ours['ms']:.1f}×)" if ours and ours["ms"] else ""
    return f"{row['ms']:.3g}{ratio}{mark}" if row["ms"] < 1000 else f"{row['ms']:.0f}{ratio}{mark}"


def fraction(row: Row | None) -> str:
    value = row and row.get("fraction_of_sgemm")
    return f"{value:.2f}" if value else "—"


def growth_table(growth: list[Row]) -> list[str]:
    peers = list(dict.fromkeys(row["peer"] for row in growth))
    lines = [line(["grows", "to", *peers]), line(["---", "--:"] + ["--:"] * len(peers))]
    for axis in dict.fromkeys(row["axis"] for row in growth):
        series = {p: [r for r in growth if (r["peer"], r["axis"]) == (p, axis)] for p in peers}
        values = sorted({axis_value(row) for rows in series.values() for row in rows})
        for value in values:
            at = [
                next((r for r in rows if axis_value(r) == value), None) for rows in series.values()
            ]
            lines.append(line([axis, value, *(cell(row, None) for row in at)]))
        lines.append(line([axis, "exponent", *(exponent(rows) for rows in series.values())]))
    return lines


def axis_value(row: Row) -> int:
    """The number that grows, read off a row."""
    sizes = row["architecture"].split()[1].split("-")
    values = {"K": row["samples"], "batch": row["batch"], "depth": len(sizes), "width": sizes[0]}
    return int(values[row["axis"]])


def exponent(rows: list[Row]) -> str:
    """Of the power law through the ends."""
    known = [row for row in rows if row["ms"]]
    if len(known) < 2:
        return "—"
    first, last = known[0], known[-1]
    times = math.log(last["ms"] / first["ms"])
    return f"{times / math.log(axis_value(last) / axis_value(first)):.2f}"


def section(result: Row) -> str:
    best = best_rows(result["rows"])
    evaluated = [row["batch"] for row in result["rows"] if row["task"] == "evaluation"]
    differences = [d for check in result["checks"] for d in check["differences"].values()]
    parts = [
        INTRODUCTION.format(
            evaluated=evaluated[0] if evaluated else "some",
            largest=max(differences),
            tolerance=result["tolerance"],
            limit=result["sgemm_gflops"],
        ),
        *("### Training step, ms", "", *comparison_table(best, "step"), ""),
        *("### Evaluation, ms", "", *comparison_table(best, "evaluation"), ""),
    ]
    if result["growth"]:
        base = (
            "Training steps around sbn/sbn 200-200-200, batch 25, K = 5, ms, and the best peer's."
        )
        parts += ["### How cost grows", "", base, "", *growth_table(result["growth"]), ""]
    parts += ["![Times of the peers over wakesleep's, and growth](benchmarks.png)", ""]
    return "\n".join([*parts, machine_line(result)])


def machine_line(result: Row) -> str:
    return (
        f"`{result['command']}` at commit {result['commit']} on {result['cores']} cores of "
        f"{result['cpu']}, load {result['load_before']:.1f} before; Python {result['python']}, "
        f"JAX {result['jax']}, PyTorch {result['torch']}, Pyro {result['pyro']}."
    )
