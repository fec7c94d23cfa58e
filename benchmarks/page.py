"""The docs' page on speed, from the results alone: `python -m benchmarks.page [--docs FOLDER]`.

Tables are of every machine and instruction set there is a result of; `page.md` has the words.
"""

import argparse
import json
from pathlib import Path
from string import Template
from typing import Any

from benchmarks.machine import RESULTS
from benchmarks.peers.plot import draw
from benchmarks.peers.table import axis_value, best_rows, line, section
from wakesleep.kernels.native import INSTRUCTION_SETS

Result = dict[str, Any]

DOCS = Path(__file__).parents[1] / "docs"
WORDS = Path(__file__).with_name("page.md")


def results(name: str, folder: Path) -> list[Result]:
    """That of a benchmark, and those of instruction sets that were asked for."""
    names = [name, *(f"{name}-{instructions}" for instructions in INSTRUCTION_SETS)]
    paths = [folder / f"{one}.json" for one in names]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def measured(result: Result) -> str:
    """Where a table comes from, as the line above it."""
    # Results from before this was recorded say nothing.
    kernels = f", {result['kernels']['reason']}" if "kernels" in result else ""
    return (
        f"`{result['command']}` at commit {result['commit']} on {result['cores']} cores of "
        f"{result['cpu']}{kernels}, load {result['load_before']:.1f} before; Python "
        f"{result['python']}, JAX {result['jax']}:"
    )


def step_table(result: Result) -> str:
    about = ["batch", "shares", "optimiser", "averaged weights"]
    header = [*about, "ms", "of sgemm", "ms by Optax's chain"]
    rows = [
        [
            row["batch"],
            row.get("shares", 1),
            row["optimiser"],
            "yes" if row["average"] else "no",
            f"{row['ms_per_step']:.2f}",
            f"{row['fraction_of_sgemm']:.2f}",
            f"{row['ms_by_optax']:.2f}" if "ms_by_optax" in row else "—",
        ]
        for row in result["rows"]
    ]
    lines = table(result, header, rows)
    if growth := result.get("growth"):
        lines += (
            f"\n\nWith K = {growth['samples']} a step of {growth['large']} examples takes "
            f"{growth['ratio']:.2f} times that of {growth['small']}."
        )
    return lines


def kernel_table(result: Result) -> str:
    header = ["measure", "faster", "slower", "ratio", "goal"]
    rows = [
        [
            row["measure"],
            *(f"{row[side]['name']}, {row[side]['wall']:.2f} ms" for side in ("faster", "slower")),
            f"{row['ratio']:.1f}{'' if row['met'] else ', missed'}",
            f"at {'least' if row['at_least'] else 'most'} {row['goal']}",
        ]
        for row in result["rows"]
    ]
    return "\n".join([table(result, header, rows), *parts_lines(result["rows"])])


def parts_lines(rows: list[Result]) -> list[str]:
    """What the parts of the steps take alone, where that was measured."""
    steps = [
        (name, parts, row[side]["wall"])
        for row in rows
        for side in ("faster", "slower")
        for name, parts in (row.get("parts") or {}).items()
        if name == row[side]["name"]
    ]
    if not steps:
        return []
    header = ["step, ms", *steps[0][1], "parts together", "measured"]
    return [
        "",
        line(header),
        line(["---"] * len(header)),
        *(
            line([name, *(f"{ms:.2f}" for ms in (*parts.values(), sum(parts.values()), wall))])
            for name, parts, wall in steps
        ),
    ]


def cost_table(result: Result) -> str:
    header = ["architecture", "ms foretold", "ms measured", "MB foretold", "MB measured", "off"]
    rows = [
        [
            # A bar would end the cell.
            row["architecture"].replace("|", "\\|"),
            *(f"{1e3 * row[side]['step_seconds']:.2f}" for side in ("foretold", "measured")),
            *(f"{row[side]['memory'] / 1e6:.0f}" for side in ("foretold", "measured")),
            " and ".join(f"{off:.0%}" for off in row["off"].values())
            + ("" if row["met"] else ", missed"),
        ]
        for row in result["rows"]
    ]
    return table(result, header, rows)


def likelihood_lines(result: Result) -> str:
    memory = result["peak_megabytes_by_samples"]
    fractions = result["fractions"]
    few = [
        f"{row['examples']} rows with K = {row['samples']} take {row['ms']:.0f} ms, "
        f"{row['ms_not_defensive']:.0f} without defensive samples."
        for row in result.get("few_rows", ())
    ]
    many = (
        f"{measured(result)} log p̂(x) of {result['architecture']} with K = "
        f"{result['samples']:,} runs at {result['fraction_of_sgemm']:.2f} of sgemm "
        f"({len(fractions)} repetitions, {min(fractions):.2f} to {max(fractions):.2f}). The "
        f"largest resident memory is {', '.join(f'{mb:.0f}' for mb in memory.values())} MB for "
        f"K = {', '.join(f'{int(samples):,}' for samples in memory)}."
    )
    return " ".join([many, *few])


def start_lines(result: Result) -> str:
    named = result["named_fit_seconds"]
    # Processes of an earlier benchmark had imported JAX before the estimator.
    kept = "" if result.get("keeps_compiled") else " that imports JAX first and so keeps nothing"
    return "\n".join(
        [
            "\n## The first second\n",
            f"{measured(result)} `wakesleep train digits` (`{result['model']}`) prints its first "
            f"epoch {result['first_epoch_seconds']:.1f} s after its start, and "
            f"{result['first_epoch_again_seconds']:.1f} s from the second time on. "
            f'`HelmholtzMachineDensity("{result["model"]}").fit(digits)` takes '
            f"{named['nothing_compiled']:.1f} s where nothing is compiled yet, "
            f"{named['new_process']:.2f} s in a later process{kept}, and {named['again']:.2f} s "
            "when it is called again; imports come on top. Without the name of a model it trains "
            f"several and chooses: {result['fit_seconds']:.1f} s, and "
            f"{result['fit_again_seconds']:.1f} s when it is called again.\n",
        ]
    )


def table(result: Result, header: list[str], rows: list[list[Any]]) -> str:
    lines = [line(header), line(["---"] * len(header)), *map(line, rows)]
    return "\n".join([measured(result), "", *lines])


def page(folder: Path = RESULTS) -> str:
    """The whole page."""
    parts = {
        "steps": map(step_table, results("step", folder)),
        "kernels": map(kernel_table, results("kernels", folder)),
        "likelihood": map(likelihood_lines, results("likelihood", folder)),
        "start": map(start_lines, results("start", folder)),
        "cost": map(cost_table, results("cost", folder)),
        "peers": map(section, results("peers", folder)),
    }
    words = Template(WORDS.read_text())
    return words.substitute({name: "\n\n".join(texts) for name, texts in parts.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=Path, default=DOCS)
    options = parser.parse_args()
    (options.docs / "benchmarks.md").write_text(page())
    peers = results("peers", RESULTS)[0]
    draw(best_rows(peers["rows"]), peers["growth"], axis_value, options.docs / "benchmarks.png")


if __name__ == "__main__":
    main()
