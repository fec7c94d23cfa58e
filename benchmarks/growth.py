"""How log p-hat of a trained machine still grows with K, and what its stated bias makes of that.

    python -m benchmarks.growth [--model mnist-sbn-200-200-200] [--examples 40]

Draws 98,304 samples for some random test rows and reads the estimate off every power of two of
1,024 of them, averaged over the blocks there are. Evaluation under a tolerance can save samples
only where this curve is flat before its end.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import logsumexp

import wakesleep as ws
from benchmarks.machine import provenance, write_result
from wakesleep.evaluation.growth import Growth, gain_to_come
from wakesleep.evaluation.tail import Tail
from wakesleep.evaluation.tiles import tile_log_weights

BLOCK, BLOCKS = 1024, 96
SIZES = [BLOCK * 2**i for i in range(6)] + [BLOCK * BLOCKS]


def draw(model: ws.HelmholtzMachine, rows: np.ndarray) -> np.ndarray:
    """log weights, `[rows, 98304]`."""
    drawn = np.empty((len(rows), BLOCKS, BLOCK), np.float64)
    for i, row in enumerate(rows):
        x = jnp.asarray(row[None], jnp.float32)
        for block in range(BLOCKS):
            place = jnp.asarray([i, block], jnp.int32)
            drawn[i, block] = tile_log_weights(model, x, BLOCK, jax.random.key(5), place)[0]
    return drawn.reshape(len(rows), -1)


def measure(log_weights: np.ndarray, size: int) -> dict[str, float]:
    """The mean estimate with K = size, and the bias that is stated for the first such block."""
    blocks = log_weights.reshape(len(log_weights), -1, size)
    growth, tail = Growth(), Tail(len(log_weights), size)
    first = blocks[:, 0]
    for part in np.split(first, size // BLOCK, axis=1):
        growth.add(part)
    tail.add(first)
    gains, k = growth.gains(), tail.pareto_k()
    assert gains is not None
    effective = np.exp(2 * logsumexp(first, axis=1) - logsumexp(2 * first, axis=1))
    return {
        "samples": size,
        "log_likelihood": float((logsumexp(blocks, axis=2) - np.log(size)).mean()),
        "half_variance": float((1 / effective).mean() / 2),
        "gain_to_come": float(gain_to_come(gains, k).mean()),
        "median_effective_samples": float(np.median(effective)),
        "median_pareto_k": float(np.median(k)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="mnist-sbn-200-200-200")
    parser.add_argument("--examples", type=int, default=40)
    options = parser.parse_args()
    about = provenance()
    data = ws.load_dataset("binarized_mnist")
    rows = np.random.default_rng(7).choice(len(data.test), options.examples, replace=False)
    log_weights = draw(ws.load_pretrained(options.model), data.test[np.sort(rows)])
    found = [measure(log_weights, size) for size in SIZES]
    for line in found:
        print("  ".join(f"{name} {value:.3f}" for name, value in line.items()))
    about |= {"model": options.model, "examples": options.examples, "data": data.name}
    write_result("growth", {**about, "binarisation": data.binarisation, "sizes": found})


if __name__ == "__main__":
    main()
