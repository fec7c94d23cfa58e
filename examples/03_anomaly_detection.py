"""Anomalies are rows of low likelihood: train on some digits, find the ones never seen.

Usage: python examples/03_anomaly_detection.py

The machine sees images of every digit but one. The score of an image is its log-likelihood
under the machine, in nats, and the digit that was left out should score lowest.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from wakesleep.sklearn import HelmholtzMachineDensity

UNSEEN = 6


def main() -> None:
    X, digit = load_digits(return_X_y=True)
    X = (X > 7.5).astype(np.uint8)
    train, test, seen, asked = train_test_split(X, digit, test_size=0.4, random_state=0)
    train = train[seen != UNSEEN]
    density = HelmholtzMachineDensity("sbn/sbn 20-60", max_iter=60, random_state=0).fit(train)
    forest = IsolationForest(random_state=0).fit(train)
    normal = asked != UNSEEN
    for name, score in (
        ("Helmholtz machine, log p(x)", density.score_samples(test)),
        ("isolation forest", forest.score_samples(test)),
    ):
        area = roc_auc_score(normal, score)
        print(f"{name:28s} area under the ROC curve {area:.3f}, digit {UNSEEN} never seen")
    score = density.score_samples(test)
    print(
        f"mean log-likelihood: {score[normal].mean():.1f} nats for digits like those seen, ", end=""
    )
    print(f"{score[~normal].mean():.1f} for digit {UNSEEN}")


if __name__ == "__main__":
    main()
