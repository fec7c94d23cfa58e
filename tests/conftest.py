"""What many tests need."""

from pathlib import Path

import jax
import pytest

MEMORY_MAPS = Path("/proc/self/maps")


@pytest.fixture
def key():
    return jax.random.key(20150507)


@pytest.fixture(autouse=True, scope="module")
def room_for_compiled_code():
    """Linux allows a process 65,530 memory maps, and every compiled function keeps some."""
    yield
    if MEMORY_MAPS.exists() and MEMORY_MAPS.read_text().count("\n") > 30_000:
        jax.clear_caches()
