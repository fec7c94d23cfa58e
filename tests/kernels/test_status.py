"""Which kernels are in use is asked for, told, and never a silent fallback."""

import jax.numpy as jnp
import pytest

from wakesleep.errors import UsageError
from wakesleep.kernels import native


@pytest.fixture(autouse=True)
def fresh_status():
    native.status.cache_clear()
    yield
    native.status.cache_clear()


def test_reference_on_request(monkeypatch):
    monkeypatch.setenv("WAKESLEEP_KERNELS", "reference")
    in_use, reason = native.status()
    assert in_use == "reference"
    assert "WAKESLEEP_KERNELS=reference" in reason


def test_reference_without_the_library_says_why(monkeypatch):
    monkeypatch.delenv("WAKESLEEP_KERNELS", raising=False)
    monkeypatch.setattr(native, "LIBRARY", "_not_there.so")
    in_use, reason = native.status()
    assert in_use == "reference"
    assert "C++17 compiler" in reason


@pytest.mark.parametrize("wanted", ["native", "baseline"])
def test_asking_for_a_library_that_is_not_there(monkeypatch, wanted):
    monkeypatch.setenv("WAKESLEEP_KERNELS", wanted)
    monkeypatch.setattr(native, "LIBRARY", "_not_there.so")
    with pytest.raises(UsageError, match=f"WAKESLEEP_KERNELS={wanted}, but there are no compiled"):
        native.status()


def test_a_value_that_means_nothing(monkeypatch):
    monkeypatch.setenv("WAKESLEEP_KERNELS", "fast")
    with pytest.raises(UsageError, match="WAKESLEEP_KERNELS=fast is none of native, reference"):
        native.status()


def test_other_types_than_float32_go_to_the_reference():
    assert not native.serves(jnp.zeros(3, jnp.float16))


@pytest.mark.skipif(native.status().in_use != "native", reason="needs the compiled kernels")
def test_a_library_older_than_the_code(monkeypatch):
    monkeypatch.delenv("WAKESLEEP_KERNELS", raising=False)
    monkeypatch.setattr(native, "_TARGETS", ("a_kernel_of_tomorrow",))
    with pytest.raises(UsageError, match="install wakesleep again"):
        native.status()
