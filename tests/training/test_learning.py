"""Learning where the answer is known, and the paper's claim in small."""

import jax
import numpy as np
import pytest

import wakesleep as ws
from wakesleep.data import bars_log_prob
from wakesleep.training.validation_score import ValidationScore


@pytest.mark.parametrize("architecture", ["nade/sbn 8", "ar_sbn/nade 8"])
def test_bars_are_learnt_to_within_their_entropy_and_not_beyond(architecture):
    bars = ws.load_dataset("bars")
    model = ws.build(architecture, features=bars.features, key=jax.random.key(0))
    recipe = ws.Recipe(epochs=30, estimator={"samples": 10}, learning_rate=0.03)
    trained = ws.fit(model, bars, recipe, seed=0).model
    score = ws.log_likelihood(trained, bars.test, method="exact")
    assert -score.mean < bars.entropy + 0.3
    truth = bars_log_prob(np.asarray(bars.test), 4)
    gain = score.values - truth
    assert gain.mean() < 3 * gain.std() / np.sqrt(len(gain))


def test_reweighting_beats_classic_wake_sleep_on_digits():
    digits = ws.load_dataset("digits")
    model = ws.build("sbn/sbn 10-50-100", features=digits.features, key=jax.random.key(0))

    def score(**options):
        recipe = ws.Recipe(epochs=60, estimator=options)
        trained = ws.fit(model, digits, recipe, seed=0).model
        return ws.log_likelihood(trained, digits.test, samples=1000, key=jax.random.key(1))

    reweighted, classic = score(samples=5), score(samples=1, wake_q=0.0)
    assert reweighted.mean - classic.mean > reweighted.confidence + classic.confidence


@pytest.mark.slow
def test_mnist_is_better_than_minus_107_after_ten_epochs():
    if ws.DATASETS["binarized_mnist"].absence():
        pytest.skip("binarized MNIST is not in $WAKESLEEP_DATA")
    mnist = ws.load_dataset("binarized_mnist")
    model = ws.build("sbn/sbn 200-200-200", features=784, key=jax.random.key(0))
    trained = ws.fit(model, mnist, ws.Recipe(epochs=10), seed=0).model
    reached = ValidationScore(mnist.valid, 100, jax.random.key(9))(trained)
    print(f"validation log-likelihood after ten epochs, K = 100: {reached:.2f} nats")
    assert reached > -107
