"""How often the stated interval of an evaluation covers the log-likelihood.

    python -m benchmarks.coverage [--repetitions 500] [--samples 500 1000] [--seeds 1]
    python -m benchmarks.coverage --pretrained mnist-sbn-200-200-200 web-sbn-10-50-200

Machines of 4 visible and few latent bits whose p and q are both random, so that q was never trained
for this p, with q of every kind, and the same machines trained on rows that p's layers drew; four
rows are evaluated over and over, and the share of intervals that hold the exact value is counted,
with the defensive proposal and without. A pretrained model has no exact value: 20 test rows are
compared with a tight estimate (100,000 samples, and annealing where a row needs it). Writes
results/benchmarks/coverage.json, one line for each machine and number of samples, old ones kept.
"""

import argparse
import json
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

import wakesleep as ws
from benchmarks.machine import RESULTS, provenance, write_result
from wakesleep.data import Dataset, PackedBits

Q_KINDS = ("sbn", "ar_sbn", "nade", "darn", "sbn(units=3)", "nade(order=1)")
SHOWN = ("rows", "worst_row", "mean")
PRETRAINED_DATA = {"mnist-sbn-200-200-200": "binarized_mnist", "web-sbn-10-50-200": "web"}
TEST_ROWS = 20
ROWS = np.array([[0, 0, 0, 0], [0, 1, 0, 1], [1, 0, 1, 0], [1, 1, 1, 1]], np.uint8)


def random_machine(kind: str, seed: int, scale: float) -> ws.HelmholtzMachine:
    """p an SBN, q of a kind, every parameter drawn anew from a normal distribution."""
    key = jax.random.key(seed)
    machine = ws.build(f"sbn/{kind} 2-3", features=4, key=key)
    leaves, structure = jax.tree.flatten(machine)
    keys = jax.random.split(key, len(leaves))
    drawn = [scale * jax.random.normal(k, leaf.shape) for k, leaf in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(structure, drawn)


def trained(machine: ws.HelmholtzMachine, seed: int) -> ws.HelmholtzMachine:
    """The machine after a short training on rows of its own dreams."""
    rows = np.asarray(ws.sample(machine, 2000, key=jax.random.key(seed))).astype(np.uint8)
    parts = [PackedBits.pack(part) for part in np.split(rows, (1600, 1800))]
    data = Dataset("dreams", *parts, binarisation="drawn")
    return ws.fit(machine, data, ws.Recipe(epochs=20), seed=seed, progress=False).model


def coverage(
    machine: ws.HelmholtzMachine, rows: Any, wanted: Any, counts: tuple[int, int], share: float
) -> dict[str, float]:
    """Shares of intervals that hold: of single rows, the worst row's, and of the rows' mean.

    `counts` are repetitions and samples, `wanted` is what should be held.
    """
    repetitions, samples = counts
    repeated = np.tile(rows, (repetitions, 1))
    score = ws.log_likelihood(machine, repeated, samples, key=4, defensive=share)
    half = 1.96 * score.standard_errors + np.abs(score.biases)
    held = np.abs(score.values - np.tile(wanted, repetitions)) <= half
    by_row = held.reshape(repetitions, len(rows)).mean(axis=0)
    parts = [score.take(rows) for rows in np.split(np.arange(len(score)), repetitions)]
    mean = [abs(part.mean - wanted.mean()) <= part.monte_carlo_error for part in parts]
    effective = float(np.median(score.effective_samples))
    return {
        "rows": float(by_row.mean()),
        "worst_row": float(by_row.min()),
        "mean": float(np.mean(mean)),
        "median_effective_samples": effective,
    }


def subjects(given: argparse.Namespace) -> Iterator[tuple[str, ws.HelmholtzMachine, Any, Any]]:
    """Names, machines, rows and what their log-likelihoods are."""
    for name in given.pretrained:
        machine = ws.load_pretrained(name)
        rows = ws.load_dataset(PRETRAINED_DATA[name]).test[np.arange(TEST_ROWS)]
        tight = ws.log_likelihood(machine, rows, 100_000, key=9, tolerance=0.02)
        yield name, machine, rows, tight.values
    if given.pretrained:
        return
    for kind in Q_KINDS:
        for seed in range(given.seeds):
            machine = random_machine(kind, seed, given.scale)
            for name, one in (("untrained", machine), ("trained", trained(machine, seed))):
                exact = ws.log_likelihood(one, ROWS, method="exact").values
                yield f"{name} {kind}, seed {seed}", one, ROWS, exact


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--samples", type=int, nargs="+", default=[500, 1000])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--scale", type=float, default=2.0)
    parser.add_argument("--pretrained", nargs="+", default=[], choices=PRETRAINED_DATA)
    given = parser.parse_args()
    path = RESULTS / "coverage.json"
    lines = json.loads(path.read_text())["lines"] if path.exists() else {}
    print("| machine | K | q alone: rows | worst row | mean | defensive: rows | worst row | mean |")
    print("|---|---|---|---|---|---|---|---|")
    for name, machine, rows, wanted in subjects(given):
        for samples in given.samples:
            counts = (given.repetitions, samples)
            alone, guarded = (coverage(machine, rows, wanted, counts, s) for s in (0.0, 0.1))
            shown = [f"{each[part]:.3f}" for each in (alone, guarded) for part in SHOWN]
            print(f"| {name} | {samples} |", " | ".join(shown), "|", flush=True)
            line = {"alone": alone, "defensive": guarded, "repetitions": given.repetitions}
            lines[f"{name}, K = {samples}"] = {**line, **provenance()}
            write_result("coverage", {"lines": lines})


if __name__ == "__main__":
    main()
