"""Milliseconds a row of imputation and of cells' surprise, on mushrooms.

    python -m benchmarks.impute

The pretrained `mushrooms-nade-50` on test rows of which a fifth of the bits is removed. Times are
without compilation: the best of some repetitions, and the process's own time beside it for
machines that do other things too. How good the imputed bits are stands with them: the log-loss of
their probabilities, and the share of wrong ones.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import wakesleep as ws
from benchmarks.machine import provenance, write_result
from wakesleep.inference.imputation import ENOUGH, impute
from wakesleep.inference.surprise import cell_log_probs

ROWS, REMOVED, REPETITIONS = 500, 0.2, 3
CELL_ROWS = 50


def best_times(work: Callable[[], Any], rows: int) -> tuple[Any, dict[str, float]]:
    """The last result, and the fewest milliseconds a row, by the clock and of this process."""
    result = work()
    clock, process = [], []
    for _ in range(REPETITIONS):
        start, start_process = time.perf_counter(), time.process_time()
        result = work()
        clock.append(time.perf_counter() - start)
        process.append(time.process_time() - start_process)
    return result, {
        "milliseconds_a_row": 1000 * min(clock) / rows,
        "process_milliseconds_a_row": 1000 * min(process) / rows,
    }


def quality(imputed: ws.Imputation, x: np.ndarray, missing: np.ndarray) -> dict[str, float]:
    p = np.clip(imputed.probabilities[missing], 1e-3, 1 - 1e-3)
    bits = x[missing]
    return {
        "log_loss": float(-np.mean(np.log(np.where(bits, p, 1 - p)))),
        "wrong": float(np.mean((p > 0.5) != bits)),
        "median_effective_samples": float(np.nanmedian(imputed.effective_samples)),
        "moved_rows": float(imputed.moved.mean()),
    }


def main() -> None:
    model, x = ws.load_pretrained("mushrooms-nade-50"), ws.load_dataset("mushrooms").test[:ROWS]
    missing = np.random.default_rng(0).random(x.shape) < REMOVED
    result: dict[str, Any] = provenance()
    result |= {"rows": len(x), "removed": REMOVED, "repetitions": REPETITIONS, "enough": ENOUGH}
    key = jax.random.key(0)
    imputed, times = best_times(lambda: impute(model, x, missing, key=key, draws=1), len(x))
    result["impute"] = times | quality(imputed, x, missing)
    nothing = np.zeros_like(missing)
    _, times = best_times(lambda: impute(model, x, nothing, key=key, draws=1), len(x))
    result["complete_rows"] = times
    cells = x[:CELL_ROWS]
    _, times = best_times(lambda: cell_log_probs(model, cells, 100, key=key), len(cells))
    result["surprise"] = times | {"rows_a_second": 1000 / times["milliseconds_a_row"]}
    write_result("impute", result)
    for name in ("impute", "complete_rows", "surprise"):
        print(name, {key: round(value, 4) for key, value in result[name].items()})


if __name__ == "__main__":
    main()
