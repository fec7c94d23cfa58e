"""Whether a tolerance saves samples and tells the truth, against a fixed number of samples.

    python -m benchmarks.adaptive MODEL.safetensors --data binarized_mnist --tolerance 1 0.5

Random rows of the test set are evaluated with all samples each, and again, with another key,
under each tolerance and with each number of samples as the most a row may take. All evaluations
keep checkpoints beside the model, so that an interrupted benchmark continues.
"""

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from benchmarks.machine import provenance, write_result
from wakesleep.data import PackedBits, load_dataset
from wakesleep.evaluation import LogLikelihood, log_likelihood
from wakesleep.models import HelmholtzMachine
from wakesleep.storage import load_model


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", default="binarized_mnist")
    parser.add_argument("--examples", type=int, default=500)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--tolerance", type=float, nargs="+", default=[1.0, 0.5])
    parser.add_argument("--most", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def evaluate(
    model: HelmholtzMachine,
    rows: PackedBits,
    asked: argparse.Namespace,
    samples: int,
    tolerance: float | None,
) -> tuple[LogLikelihood, float | None]:
    """The result and its seconds, unless a part is of an earlier run of the benchmark.

    Fixed and adaptive evaluations share no randomness.
    """
    name = "fixed" if tolerance is None else f"{samples}-{tolerance}"
    checkpoint = asked.model.with_suffix(f".evaluation-{name}.safetensors")
    resumed = checkpoint.exists()
    start = time.perf_counter()
    score = log_likelihood(
        model,
        rows,
        samples,
        key=jax.random.key(asked.seed + (0 if tolerance is None else 1)),
        tolerance=tolerance,
        checkpoint=checkpoint,
    )
    return score, None if resumed else time.perf_counter() - start


def compare(fixed: LogLikelihood, adaptive: LogLikelihood) -> dict[str, Any]:
    """How far apart the two are, measured in the errors they state."""
    difference = adaptive.mean - fixed.mean
    stated = float(np.hypot(adaptive.monte_carlo_error, fixed.monte_carlo_error))
    errors = np.hypot(
        adaptive.standard_errors - adaptive.biases, fixed.standard_errors - fixed.biases
    )
    apart = np.abs(adaptive.values - fixed.values) / errors
    return {
        "difference_of_means": difference,
        "stated_error_of_difference": stated,
        "agrees": abs(difference) <= stated,
        "agrees_by_its_own_error_alone": abs(difference) <= adaptive.monte_carlo_error,
        "examples_within_two_errors": float((apart <= 2).mean()),
        "times_fewer_samples": float(fixed.samples.sum() / adaptive.samples.sum()),
        "examples_stopped_early": float((adaptive.samples < fixed.samples).mean()),
    }


def main() -> None:
    asked = options()
    result = provenance()
    model, test = load_model(asked.model), load_dataset(asked.data).test
    chosen = np.random.default_rng(asked.seed).choice(len(test), asked.examples, replace=False)
    rows = test.take(np.sort(chosen))
    fixed, fixed_seconds = evaluate(model, rows, asked, asked.samples, None)
    result |= {
        "data": asked.data,
        "samples": asked.samples,
        "fixed": {**fixed.to_dict(), "seconds": fixed_seconds},
        "adaptive": [],
    }
    for most, tolerance in itertools.product(asked.most, asked.tolerance):
        adaptive, seconds = evaluate(model, rows, asked, most, tolerance)
        result["adaptive"].append(
            {
                "most": most,
                "tolerance": tolerance,
                **compare(fixed, adaptive),
                **adaptive.to_dict(),
                "seconds": seconds,
            }
        )
    write_result("adaptive", result)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
