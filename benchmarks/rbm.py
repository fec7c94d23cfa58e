"""Restricted Boltzmann machines on digits: likelihood, features and time beside scikit-learn's.

    python -m benchmarks.rbm

scikit-learn's 8x8 digits, bits above 7.5 of 16, a third of them held out. `BernoulliRBM` is
persistent contrastive divergence with plain gradient steps; it has no likelihood, so its weights
are put into our RBM, and log Z is estimated from both sides by annealing for all alike. A
logistic regression sees P(h | x). Fit times are processor-seconds, with compilation.
"""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import BernoulliRBM

import wakesleep as ws
from benchmarks.machine import provenance, write_result
from wakesleep.data import Dataset, PackedBits
from wakesleep.layers import RBM

SEED = 0
UNITS = 100
ESTIMATORS = {
    "wakesleep, PCD-1": {"samples": 1},
    "wakesleep, CD-1": {"samples": 1, "chains": 0},
    "wakesleep, CD-10": {"samples": 1, "chains": 0, "sweeps": 10},
}


def fit_ours(bits: np.ndarray, estimator: dict[str, Any]) -> ws.HelmholtzMachine:
    rows = PackedBits.pack(bits)
    data = Dataset("digits", rows, rows.take([]), rows.take([]), "above 7.5")
    recipe = ws.Recipe(epochs=60, estimator=estimator)
    return ws.fit(f"rbm {UNITS}", data, recipe, seed=SEED, progress=False).model


def fit_sklearn(bits: np.ndarray) -> ws.HelmholtzMachine:
    made = BernoulliRBM(UNITS, learning_rate=0.06, n_iter=60, random_state=SEED).fit(bits)
    parts = (made.components_, made.intercept_visible_, made.intercept_hidden_)
    return ws.HelmholtzMachine((RBM(*(jnp.asarray(a, jnp.float32) for a in parts)),), ())


def main() -> None:
    result = provenance()
    X, digit = load_digits(return_X_y=True)
    bits = (X > 7.5).astype(np.uint8)
    train, test, train_digit, test_digit = train_test_split(
        bits, digit, test_size=1 / 3, random_state=SEED, stratify=digit
    )
    fits = {name: lambda e=e: fit_ours(train, e) for name, e in ESTIMATORS.items()}
    fits["scikit-learn, BernoulliRBM"] = lambda: fit_sklearn(train)
    models = {}
    for name, fit in fits.items():
        began = time.process_time()
        model = fit()
        seconds = time.process_time() - began
        score = ws.log_likelihood(model, test, key=jax.random.key(SEED))

        def features(rows: np.ndarray, model: Any = model) -> np.ndarray:
            return np.asarray(model.undirected.hidden_mean(jnp.asarray(rows)))

        classifier = LogisticRegression(C=10.0, max_iter=2000).fit(features(train), train_digit)
        models[name] = {
            "fit_processor_seconds": seconds,
            "accuracy": float(classifier.score(features(test), test_digit)),
            "test_log_likelihood": score.to_dict(),
        }
        found = score.normaliser
        print(
            f"{name}: {score.mean:.2f} ± {score.confidence:.2f} nats, log Z {found.lower:.2f} to "
            f"{found.upper:.2f}, accuracy {models[name]['accuracy']:.3f}, {seconds:.1f} s"
        )
    result |= {
        "data": "scikit-learn digits, bits above 7.5 of 16; a third held out, stratified",
        "units": UNITS,
        "epochs": 60,
        "seed": SEED,
        "models": models,
    }
    write_result("rbm", result)


if __name__ == "__main__":
    main()
