"""Latents as features: what a linear classifier makes of them, beside BernoulliRBM's.

Usage: python examples/04_features_for_a_classifier.py

Each model learns from the digits without their labels and stands in a pipeline before a
logistic regression. Only the Helmholtz machine can also say how likely a held-out digit is.
"""

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import BernoulliRBM
from sklearn.pipeline import make_pipeline

from wakesleep.sklearn import HelmholtzMachineDensity


def main() -> None:
    X, digit = load_digits(return_X_y=True)
    bits = (X > 7.5).astype(float)
    train, test, train_digit, test_digit = train_test_split(
        bits, digit, test_size=1 / 3, random_state=0, stratify=digit
    )
    machine = HelmholtzMachineDensity("sbn/sbn 100", max_iter=60, random_state=0)
    rbm = BernoulliRBM(100, learning_rate=0.06, n_iter=60, random_state=0)
    for name, features in (("HelmholtzMachineDensity", machine), ("BernoulliRBM", rbm)):
        pipe = make_pipeline(features, LogisticRegression(C=10, max_iter=2000))
        pipe.fit(train, train_digit)
        print(f"{name:24s} accuracy {pipe.score(test, test_digit):.3f}")
    print(f"held-out log-likelihood  {machine.score(test):.2f} nats per digit")


if __name__ == "__main__":
    main()
