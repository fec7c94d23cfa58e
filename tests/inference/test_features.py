"""Which latents of a mixture are features, and that they are what listing all states says."""

import jax
import numpy as np
import pytest

from tests.mixtures import ROWS, SIZES, components
from tests.oracle import grouped_log_likelihood
from wakesleep import Mixture
from wakesleep.data import as_bits
from wakesleep.errors import UsageError
from wakesleep.inference.features import explaining, feature_names, row_features
from wakesleep.inference.posterior import infer_rows

BITS = as_bits(ROWS.astype(np.uint8))
PARTS = components("nade", "sbn", "nade/sbn 2", "sbn/sbn 2", "sbn", scale=0.4)
WEIGHTS = np.array([0.5, 0.1, 0.0, -0.4, 0.3])
COLUMNS = [f"x{i}" for i in range(sum(SIZES))]


def mixture_of(*numbers):
    return Mixture([PARTS[c] for c in numbers], WEIGHTS[list(numbers)])


def latents_of(model, key, samples=20_000):
    return row_features(model, BITS, samples, key, which="latents")


def test_autoregressive_components_are_left_out(key):
    whole = mixture_of(0, 1, 2, 3, 4)
    names = ["component_2", "component_4", "component_5", "c4_h1_1", "c4_h1_2"]
    assert feature_names(whole, which="latents") == names
    assert feature_names(whole) == COLUMNS + names
    found = latents_of(whole, key)
    joint = np.stack([grouped_log_likelihood(PARTS[c], ROWS, SIZES) for c in (1, 3, 4)], axis=1)
    joint = np.exp(joint + WEIGHTS[[1, 3, 4]])
    np.testing.assert_allclose(found[:, :3], joint / joint.sum(1, keepdims=True), atol=0.02)
    alone = infer_rows(PARTS[3], BITS, 20_000, jax.random.fold_in(key, 1)).means
    np.testing.assert_array_equal(found[:, 3:], alone)
    np.testing.assert_array_equal(row_features(whole, BITS, 20_000, key)[:, :-5], BITS[:])


def test_one_component_that_is_left_has_no_share(key):
    assert feature_names(mixture_of(0, 3), which="latents") == ["c2_h1_1", "c2_h1_2"]
    np.testing.assert_array_equal(latents_of(mixture_of(0, 3), key), latents_of(PARTS[3], key))
    assert feature_names(mixture_of(0, 1)) == COLUMNS
    with pytest.raises(UsageError, match="no features but its columns"):
        latents_of(mixture_of(0, 1), key)


@pytest.mark.parametrize("numbers", [(0, 2), (1, 3), (1, 4)])
def test_components_of_one_sort_are_all_there(numbers, key):
    model = mixture_of(*numbers)
    assert explaining(model).model is model
    names = explaining(model).names
    assert names[:2] == ["component_1", "component_2"]
    assert len(names) == latents_of(model, key, samples=5).shape[1]
