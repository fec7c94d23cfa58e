"""How near a training step of an SBN stack comes to the machine's matrix-multiply rate.

    python -m benchmarks.step

Counts the FLOPs of the matrix products alone (random bits, sigmoids, logarithms and the
optimiser count as time, not as work) and divides by the rate of a large sgemm in the same run.
"""

import sys
from typing import Any

import jax
import numpy as np

from benchmarks.machine import median_seconds, provenance, sgemm_rate, write_result
from benchmarks.steps import AS_DRAWN, Steps
from wakesleep.architecture import build
from wakesleep.recipe import Recipe
from wakesleep.training.work import step_flops

ARCHITECTURE, FEATURES = "sbn/sbn 200-200-200", 784
STEPS = 200
REPETITIONS = 9


def measure(
    architecture: str, recipe: Recipe, *, one_pass: bool = True, steps_each: int = STEPS
) -> float:
    """Seconds per step inside the compiled loop; the optimiser in one pass, or Optax's chain."""
    model = build(architecture, FEATURES, key=jax.random.key(0))
    rows = np.random.default_rng(0).integers(0, 256, (steps_each, recipe.batch_size, FEATURES // 8))
    steps = Steps(model, recipe, rows)
    if not one_pass:
        chain = steps.config.optimiser._replace(native=None)
        steps.config = steps.config._replace(optimiser=chain)
    return median_seconds(lambda: steps.run(steps_each).step, REPETITIONS) / steps_each


def growth(samples: int = 50, small: int = 25, large: int = 100) -> dict[str, float]:
    """How the time of a step grows with its minibatch, where samples are many."""
    estimator = {**AS_DRAWN, "samples": samples}
    times = [
        measure(ARCHITECTURE, Recipe(batch_size=b, estimator=estimator), steps_each=20)
        for b in (small, large)
    ]
    return {"samples": samples, "small": small, "large": large, "ratio": times[1] / times[0]}


def step_row(recipe: Recipe) -> dict[str, Any]:
    """A step's time, and its arithmetic as a share of the machine's."""
    seconds = measure(ARCHITECTURE, recipe)
    by_optax = measure(ARCHITECTURE, recipe, one_pass=False)
    # The machine's rate is its best: one that was disturbed would flatter the step.
    limit = max(sgemm_rate() for _ in range(3))
    rate = step_flops(ARCHITECTURE, FEATURES, recipe.batch_size, 5) / seconds
    print(
        f"batch {recipe.batch_size:3d}  shares {recipe.shares}  {recipe.optimiser:4s} "
        f"average {recipe.average:<5}  {seconds * 1e3:6.3f} ms (Optax {by_optax * 1e3:6.3f})  "
        f"{rate / 1e9:6.1f} GFLOP/s of {limit / 1e9:6.1f} (sgemm): {rate / limit:.2f}",
        file=sys.stderr,
    )
    return {
        "architecture": ARCHITECTURE,
        "batch": recipe.batch_size,
        "samples": 5,
        "shares": recipe.shares,
        "optimiser": recipe.optimiser,
        "average": recipe.average,
        "ms_per_step": seconds * 1e3,
        "ms_by_optax": by_optax * 1e3,
        "gflops": rate / 1e9,
        "sgemm_gflops": limit / 1e9,
        "fraction_of_sgemm": rate / limit,
    }


def main() -> None:
    about = provenance()
    # A minibatch is cut in two where there are 10,000 rows or more and it is even.
    cuts = ((25, 1), (100, 1), (100, 2))
    optimisers = (("sgd", 0.0), ("adam", 0.0), ("adam", 0.998))
    rows = [
        step_row(
            Recipe(
                batch_size=batch,
                shares=shares,
                optimiser=optimiser,
                average=average,
                estimator=AS_DRAWN,
            )
        )
        for batch, shares in cuts
        for optimiser, average in optimisers
    ]
    result = {**about, "rows": rows, "growth": growth()}
    print(f"four times the batch, K = 50: {result['growth']['ratio']:.2f}", file=sys.stderr)
    write_result("step", result)


if __name__ == "__main__":
    main()
