"""What many tests need."""

import jax
import pytest


@pytest.fixture
def key():
    return jax.random.key(20150507)
