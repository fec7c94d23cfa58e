"""How near `log_likelihood` with K = 100,000 comes to the machine's matrix-multiply rate.

    python -m benchmarks.likelihood

SBN/SBN 200-200-200 with 784 visible units. Counts the FLOPs of the matrix products alone
(random bits, exponentials, the running sums and Pareto k count as time, not as work) and
divides by the rate of a large sgemm measured between the repetitions. The largest memory a
process takes is measured for several K, each in a process of its own.
"""

import json
import resource
import statistics
import subprocess
import sys
import time

import jax
import numpy as np

from benchmarks.machine import provenance, sgemm_rate, write_result
from wakesleep.architecture import build
from wakesleep.evaluation import log_likelihood
from wakesleep.evaluation.likelihood import DEFENSIVE
from wakesleep.training.work import evaluation_flops

ARCHITECTURE, FEATURES = "sbn/sbn 200-200-200", 784
SAMPLES = 100_000
EXAMPLES = 8
FEW = 200
REPETITIONS = 7
MEMORY_SAMPLES = (1_000, 10_000, 100_000, 300_000)


def evaluate(samples: int, examples: int, defensive: float = DEFENSIVE) -> float:
    """Seconds to evaluate some examples."""
    # A model that is still being made would be waited for in the time that counts.
    model = jax.block_until_ready(build(ARCHITECTURE, FEATURES, key=jax.random.key(0)))
    data = np.random.default_rng(0).integers(0, 2, (examples, FEATURES))
    start = time.perf_counter()
    log_likelihood(model, data, samples, key=jax.random.key(1), defensive=defensive)
    return time.perf_counter() - start


def few_rows(samples: int) -> dict[str, float]:
    """What a person waits for who asks about few rows, all diagnostics included."""

    def median_ms(defensive: float) -> float:
        evaluate(samples, FEW, defensive)
        return 1e3 * statistics.median(evaluate(samples, FEW, defensive) for _ in range(9))

    return {
        "examples": FEW,
        "samples": samples,
        "ms": median_ms(DEFENSIVE),
        "ms_not_defensive": median_ms(0),
    }


def peak_megabytes(samples: int) -> float:
    """The largest resident memory of a process that evaluates four examples."""
    command = [sys.executable, "-m", "benchmarks.likelihood", "memory", str(samples)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(json.loads(answer))


def measure_memory(samples: int) -> None:
    evaluate(samples, 4)
    print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def main() -> None:
    result = provenance()
    memory = {samples: peak_megabytes(samples) for samples in MEMORY_SAMPLES}
    evaluate(SAMPLES, 1)
    flops = evaluation_flops(ARCHITECTURE, FEATURES, EXAMPLES, SAMPLES)
    rates, limits = [], []
    for _ in range(REPETITIONS):
        limits.append(sgemm_rate())
        rates.append(flops / evaluate(SAMPLES, EXAMPLES))
    rate, limit = statistics.median(rates), statistics.median(limits)
    result |= {
        "architecture": ARCHITECTURE,
        "samples": SAMPLES,
        "examples": EXAMPLES,
        "gflops": rate / 1e9,
        "sgemm_gflops": limit / 1e9,
        "fraction_of_sgemm": rate / limit,
        "fractions": [rate / limit for rate, limit in zip(rates, limits, strict=True)],
        "peak_megabytes_by_samples": memory,
        "few_rows": [few_rows(5), few_rows(50)],
    }
    write_result("likelihood", result)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        measure_memory(int(sys.argv[2]))
    else:
        main()
