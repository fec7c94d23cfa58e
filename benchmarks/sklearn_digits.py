"""Features for a linear classifier: a Helmholtz machine beside scikit-learn's BernoulliRBM.

    python -m benchmarks.sklearn_digits

scikit-learn's 8x8 digits, bits above 7.5 of 16, a third of them held out. Each model is fitted
to the training bits without labels; a logistic regression then sees the model's features. Fit
times are the models' own, with compilation. BernoulliRBM has no likelihood to compare
(its partition function is unknown), so that column is the machine's alone.
"""

import statistics
import time
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import BernoulliRBM
from sklearn.preprocessing import FunctionTransformer

from benchmarks.machine import provenance, write_result
from wakesleep.sklearn import HelmholtzMachineDensity

SEEDS = range(5)
UNITS = 100


def models(seed: int) -> dict[str, Any]:
    """Each with as many features; the RBM with the settings of scikit-learn's own example."""
    return {
        "raw bits": FunctionTransformer(),
        "BernoulliRBM": BernoulliRBM(UNITS, learning_rate=0.06, n_iter=10, random_state=seed),
        "BernoulliRBM, 60 passes": BernoulliRBM(
            UNITS, learning_rate=0.06, n_iter=60, random_state=seed
        ),
        "HelmholtzMachineDensity": HelmholtzMachineDensity(
            f"sbn/sbn {UNITS}", binarize=None, max_iter=60, random_state=seed
        ),
        "HelmholtzMachineDensity, 200 passes, 1000 inference samples": HelmholtzMachineDensity(
            f"sbn/sbn {UNITS}",
            binarize=None,
            max_iter=200,
            inference_samples=1000,
            random_state=seed,
        ),
    }


def measure(model: Any, seed: int) -> dict[str, float]:
    X, digit = load_digits(return_X_y=True)
    bits = (X > 7.5).astype(np.float64)
    train, test, train_digit, test_digit = train_test_split(
        bits, digit, test_size=1 / 3, random_state=seed, stratify=digit
    )
    start = time.perf_counter()
    model.fit(train)
    seconds = time.perf_counter() - start
    if isinstance(model, HelmholtzMachineDensity):
        # Units against units: the pixels themselves are not what is compared.
        model.set_params(features="latents")
    classifier = LogisticRegression(C=10.0, max_iter=2000)
    classifier.fit(model.transform(train), train_digit)
    found = {
        "accuracy": float(classifier.score(model.transform(test), test_digit)),
        "fit_seconds": seconds,
    }
    if isinstance(model, HelmholtzMachineDensity):
        found["log_likelihood"] = model.set_params(inference_samples=1000).score(test)
    return found


def summary(runs: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Mean and standard deviation over the seeds."""
    return {
        name: {
            "mean": statistics.mean(run[name] for run in runs),
            "standard_deviation": statistics.stdev(run[name] for run in runs),
        }
        for name in runs[0]
    }


def main() -> None:
    result = provenance()
    runs: dict[str, list[dict[str, float]]] = {}
    for seed in SEEDS:
        for name, model in models(seed).items():
            runs.setdefault(name, []).append(measure(model, seed))
    result |= {
        "data": "scikit-learn digits, bits above 7.5 of 16; a third held out, stratified",
        "classifier": "logistic regression, C = 10",
        "features": UNITS,
        "seeds": len(SEEDS),
        "models": {name: summary(found) for name, found in runs.items()},
    }
    write_result("sklearn_digits", result)
    for name, found in result["models"].items():
        line = ", ".join(f"{what} {value['mean']:.3f}" for what, value in found.items())
        print(f"{name}: {line}")


if __name__ == "__main__":
    main()
