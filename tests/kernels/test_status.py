"""Which kernels are in use is asked for, told, and never a silent fallback."""

import jax
import jax.numpy as jnp
import pytest

from wakesleep.errors import UsageError
from wakesleep.kernels import native


@pytest.fixture(autouse=True)
def fresh_status(monkeypatch):
    monkeypatch.delenv("WAKESLEEP_INSTRUCTION_SET", raising=False)
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


@pytest.mark.parametrize(
    "asked", ["WAKESLEEP_KERNELS=native", "WAKESLEEP_INSTRUCTION_SET=baseline"]
)
def test_asking_for_a_library_that_is_not_there(monkeypatch, asked):
    monkeypatch.setenv(*asked.split("="))
    monkeypatch.setattr(native, "LIBRARY", "_not_there.so")
    with pytest.raises(UsageError, match=f"{asked}, but there are no compiled"):
        native.status()


@pytest.mark.parametrize(
    ("variable", "valid"),
    [
        ("WAKESLEEP_KERNELS", "native, reference"),
        ("WAKESLEEP_INSTRUCTION_SET", "avx512, avx2, baseline"),
    ],
)
def test_a_value_that_means_nothing(monkeypatch, variable, valid):
    monkeypatch.setenv(variable, "fast")
    with pytest.raises(UsageError, match=f"{variable}=fast is none of {valid}$"):
        native.status()


@pytest.mark.skipif(native.status().in_use != "native", reason="needs the compiled kernels")
def test_an_instruction_set_on_request(monkeypatch):
    monkeypatch.setenv("WAKESLEEP_INSTRUCTION_SET", "baseline")
    assert native.status() == ("native", "compiled kernels, baseline instructions")


def test_other_types_than_float32_go_to_the_reference():
    assert not native.serves(jnp.zeros(3, jnp.float16))


@pytest.mark.skipif(native.status().in_use != "native", reason="needs the compiled kernels")
def test_a_library_older_than_the_code(monkeypatch):
    monkeypatch.delenv("WAKESLEEP_KERNELS", raising=False)
    monkeypatch.setattr(native, "_TARGETS", ("a_kernel_of_tomorrow",))
    with pytest.raises(UsageError, match="install wakesleep again"):
        native.status()


def test_code_for_other_devices_is_not_traced_where_there_is_a_cpu_alone():
    def never(x):
        raise AssertionError("traced")

    step = jax.jit(lambda x: native.on_cpu(lambda x: x + 1, never, x))
    assert step(jnp.ones(())) == 2


def test_with_other_devices_xla_decides_between_the_two(monkeypatch):
    monkeypatch.setattr(native, "_cpu_alone", lambda: False)
    traced = []

    def default(x):
        traced.append(x)
        return x

    step = jax.jit(lambda x: native.on_cpu(lambda x: x + 1, default, x))
    assert step(jnp.ones(())) == 2
    assert traced
