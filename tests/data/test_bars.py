import itertools

import numpy as np
import pytest

from wakesleep.data import bars_entropy, bars_log_prob, load_dataset
from wakesleep.errors import UsageError


def every_image(size):
    return np.array(list(itertools.product([0, 1], repeat=size * size)), dtype=np.uint8)


def probabilities_by_drawing_all_coins(size):
    """P(image), summed over every orientation and every choice of bars."""
    probability = dict.fromkeys(map(bytes, every_image(size)), 0.0)
    for orientation in range(2):
        for bars in itertools.product([0, 1], repeat=size):
            grid = np.tile(np.array(bars, dtype=np.uint8), (size, 1))
            image = (grid.T if orientation else grid).reshape(-1)
            probability[bytes(image)] += 0.5 * 0.5**size
    return np.array(list(probability.values()))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_log_prob_and_entropy_by_enumeration(size):
    expected = probabilities_by_drawing_all_coins(size)
    log_prob = bars_log_prob(every_image(size), size)
    np.testing.assert_allclose(np.exp(log_prob), expected, rtol=1e-14)
    assert expected.sum() == pytest.approx(1.0, abs=1e-14)
    support = expected > 0
    assert np.isneginf(log_prob[~support]).all()
    entropy = -(expected[support] * np.log(expected[support])).sum()
    assert bars_entropy(size) == pytest.approx(entropy, rel=1e-13)


@pytest.mark.parametrize("size", [2, 4, 5])
def test_the_draws_follow_log_prob(size):
    data = load_dataset("bars", size=size, train=20_000, seed=3)
    assert data.entropy == bars_entropy(size)
    log_prob = bars_log_prob(data.train[:], size)
    standard_error = log_prob.std() / np.sqrt(len(log_prob))
    assert abs(-log_prob.mean() - data.entropy) < 4 * standard_error
    images, counts = np.unique(data.train[:], axis=0, return_counts=True)
    probability = np.exp(bars_log_prob(images, size))
    assert len(images) == 2 * 2**size - 2
    chi_squared = ((counts - 20_000 * probability) ** 2 / (20_000 * probability)).sum()
    freedom = len(images) - 1
    assert abs(chi_squared - freedom) < 4 * np.sqrt(2 * freedom)


def test_a_split_depends_on_the_seed_and_not_on_the_other_splits():
    one = load_dataset("bars", train=10, valid=30, test=20)
    other = load_dataset("bars", train=50, valid=30, test=5)
    np.testing.assert_array_equal(one.train[:], other.train[:10])
    np.testing.assert_array_equal(one.valid[:], other.valid[:])
    np.testing.assert_array_equal(one.test[:5], other.test[:])
    assert (one.valid[:] != load_dataset("bars", valid=30, seed=1).valid[:]).any()
    assert (one.valid[:10] != one.train[:]).any()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"size": 0}, "bars size=0 must be 1 or more"),
        ({"valid": -1}, "bars valid=-1 must be 0 rows or more"),
        ({"seed": -1}, "seed -1 must be a whole number from 0 to 4294967295"),
        (
            {"sise": 3},
            "data set 'bars' has no option 'sise'; valid: size, train, valid, test",
        ),
    ],
)
def test_errors(options, sentence):
    with pytest.raises(UsageError) as caught:
        load_dataset("bars", **options)
    assert str(caught.value) == sentence
