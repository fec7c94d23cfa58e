"""What all combinations of the layers' samples bring to an evaluation, and what they cost.

    python -m benchmarks.combined

Random validation rows of binarised MNIST under the pretrained SBN/SBN 200-200-200: log p̂(x), which
is low on average, so that higher is nearer, and processor-seconds, by samples of q alone and by all
combinations of them. Medians of repetitions with other keys.
"""

import statistics
import time
from typing import Any

import numpy as np

import wakesleep as ws
from benchmarks.machine import provenance, write_result

MODEL, ROWS = "mnist-sbn-200-200-200", 200
SAMPLES = (50, 200, 1_000)
REPETITIONS = 5
WAYS: dict[str, dict[str, Any]] = {
    "each alone": {"method": "importance", "defensive": 0},
    "combined": {"method": "combined"},
}


def measure(model: Any, rows: Any, samples: int, way: dict[str, Any]) -> dict[str, float]:
    """The mean over rows and keys, and the processor-seconds of one evaluation."""
    values, seconds = [], []
    for key in range(REPETITIONS + 1):
        start = time.process_time()
        values.append(ws.log_likelihood(model, rows, samples, key=key, **way).mean)
        seconds.append(time.process_time() - start)
    # The first one was compiled meanwhile.
    return {
        "log_likelihood": statistics.mean(values),
        "standard_error": statistics.stdev(values) / len(values) ** 0.5,
        "processor_seconds": statistics.median(seconds[1:]),
    }


def main() -> None:
    about = provenance()
    model = ws.load_pretrained(MODEL)
    valid = ws.load_dataset("binarized_mnist").valid
    rows = valid[np.sort(np.random.default_rng(0).choice(len(valid), ROWS, replace=False))]
    found: dict[int, dict[str, dict[str, float]]] = {}
    for samples in SAMPLES:
        found[samples] = {name: measure(model, rows, samples, way) for name, way in WAYS.items()}
        for name, one in found[samples].items():
            print(
                f"K = {samples:,}, {name}: {one['log_likelihood']:.3f} ± "
                f"{one['standard_error']:.3f}, {one['processor_seconds']:.2f} processor-seconds"
            )
    write_result("combined", about | {"model": MODEL, "rows": ROWS, "samples": found})


if __name__ == "__main__":
    main()
