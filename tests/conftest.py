"""What many tests need."""

import jax
import pytest


@pytest.fixture
def key():
    return jax.random.key(20150507)


@pytest.fixture(autouse=True, scope="module")
def room_for_compiled_code():
    """Each compiled function keeps memory maps, of which Linux allows a process 65,530."""
    yield
    jax.clear_caches()
