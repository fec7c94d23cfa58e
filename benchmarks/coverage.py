"""How often the stated interval of an evaluation covers the exact log-likelihood.

    python -m benchmarks.coverage [--repetitions 500] [--samples 500] [--trained]

Machines of 4 visible and few latent bits whose p and q are both random, so that q was never trained
for this p, with q of every kind; four rows are evaluated over and over, and the share of intervals
that hold the exact value is printed, with the defensive proposal and without. With
`--trained` the machines are trained first, on rows that p's layers drew. Prints a Markdown table.
"""

import argparse

import jax
import numpy as np

import wakesleep as ws
from wakesleep.data import Dataset, PackedBits
from wakesleep.provenance import commit
from wakesleep.provenance import machine as hardware

Q_KINDS = ("sbn", "ar_sbn", "nade", "darn", "sbn(units=3)", "nade(order=1)")
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
    machine: ws.HelmholtzMachine, repetitions: int, samples: int, defensive: float
) -> tuple[float, float, float]:
    """Shares of intervals that hold: of single rows, the worst row's, and of the rows' mean."""
    exact = ws.log_likelihood(machine, ROWS, method="exact").values
    repeated = np.tile(ROWS, (repetitions, 1))
    score = ws.log_likelihood(machine, repeated, samples, key=4, defensive=defensive)
    shape = (repetitions, len(ROWS))
    half = 1.96 * score.standard_errors + np.abs(score.biases)
    held = (np.abs(score.values - np.tile(exact, repetitions)) <= half).reshape(shape)
    parts = [score.take(rows) for rows in np.split(np.arange(len(score)), repetitions)]
    mean = [abs(part.mean - exact.mean()) <= part.monte_carlo_error for part in parts]
    return float(held.mean()), float(held.mean(axis=0).min()), float(np.mean(mean))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--scale", type=float, default=2.0)
    parser.add_argument("--trained", action="store_true")
    given = parser.parse_args()
    print(commit(), hardware()["cpu"])
    print("| q | seed | q alone: rows | worst row | mean | defensive: rows | worst row | mean |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in Q_KINDS:
        for seed in range(given.seeds):
            machine = random_machine(kind, seed, given.scale)
            if given.trained:
                machine = trained(machine, seed)
            found = [
                number
                for defensive in (0.0, 0.1)
                for number in coverage(machine, given.repetitions, given.samples, defensive)
            ]
            print(f"| {kind} | {seed} |", " | ".join(f"{n:.3f}" for n in found), "|", flush=True)


if __name__ == "__main__":
    main()
