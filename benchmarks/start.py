"""What a person waits for at first: a training's first epoch, and a fit to scikit-learn's digits.

    python -m benchmarks.start

Each is timed in processes of its own, with a folder of compiled code that is empty before the
first. Of `wakesleep train` the time counts from its start to the line of its first epoch; of a fit,
imports do not count. An estimator of a named model trains that alone; the automatic one trains
several models.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPETITIONS = 5
MODEL = "sbn/sbn 10-50-100"
AUTO = "auto"


def first_epoch(folder: Path) -> float:
    """Seconds from the start of a training to the line of its first epoch."""
    command = [sys.executable, "-m", "wakesleep", "train", "digits", "--model", MODEL]
    command += ["--epochs", "1", "--out", str(folder / "run"), "--overwrite"]
    start = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=own(folder)) as training:
        assert training.stderr
        for line in training.stderr:
            if line.startswith("epoch 1 "):
                seconds = time.perf_counter() - start
                training.communicate()
                return seconds
    raise RuntimeError(f"no first epoch: exit code {training.returncode}")


def fits(folder: Path, architecture: str) -> tuple[float, float]:
    """Seconds of two fits of an estimator in a new process."""
    command = [sys.executable, "-m", "benchmarks.start", "fits", architecture]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=own(folder))
    first, second = json.loads(answer.stdout)
    return first, second


def named_fit(folder: Path) -> dict[str, float]:
    """Seconds of a fit: of the first of all, of a new process's first, and of its second."""
    compiling, _ = fits(folder, MODEL)
    first, second = zip(*(fits(folder, MODEL) for _ in range(REPETITIONS)), strict=True)
    return {
        "nothing_compiled": compiling,
        "new_process": statistics.median(first),
        "again": statistics.median(second),
    }


def measure_fits(architecture: str) -> None:
    from sklearn.datasets import load_digits

    from wakesleep.sklearn import HelmholtzMachineDensity

    bits = (load_digits().data > 7.5).astype("uint8")
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        HelmholtzMachineDensity(architecture, random_state=0).fit(bits)
        seconds.append(time.perf_counter() - start)
    print(json.dumps(seconds))


def own(folder: Path) -> dict[str, str]:
    """An environment whose compiled code is kept in a folder of its own."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("JAX_")}
    return environment | {
        "XDG_CACHE_HOME": str(folder / "cache"),
        "WAKESLEEP_CACHE": "",
        "PYTHONUNBUFFERED": "1",
    }


def main() -> None:
    # Not above: a process that fits must have JAX from the estimator, which keeps what is compiled.
    from benchmarks.machine import provenance, write_result

    result = provenance()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        first = first_epoch(folder)
        later = [first_epoch(folder) for _ in range(REPETITIONS)]
        named = named_fit(folder / "named")
        first_fit, second_fit = fits(folder, AUTO)
    result |= {
        "model": MODEL,
        "named_fit_seconds": named,
        "keeps_compiled": True,
        "first_epoch_seconds": first,
        "first_epoch_again_seconds": statistics.median(later),
        "fit_seconds": first_fit,
        "fit_again_seconds": second_fit,
    }
    write_result("start", result)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    measure_fits(sys.argv[2]) if sys.argv[1:2] == ["fits"] else main()
