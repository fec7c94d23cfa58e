"""What many tests need."""

import os
from pathlib import Path

# Most of the suite's time is XLA compiling small functions: these options halve it. They must be
# set before JAX is imported. `make test-all` compiles as users do.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
)

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
