"""The compiled kernels: whether they are there and wanted, and how they are called."""

import ctypes
import functools
import os
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.extend import backend

from wakesleep.errors import UsageError

VARIABLE = "WAKESLEEP_KERNELS"
"""`native` or `reference`: which kernels to use."""
INSTRUCTIONS_VARIABLE = "WAKESLEEP_INSTRUCTION_SET"
"""What the native ones may use of the processor, instead of the best it has."""
LIBRARY = "wakesleep/kernels/_native.so"
INSTRUCTION_SETS = ("avx512", "avx2", "baseline")
_TARGETS = (
    "nade_logits",
    "nade_sample",
    "nade_gradient",
    "ar_sbn_sample",
    "logistic_noise",
    "bernoulli_sample",
    "bernoulli_log_prob",
    "bernoulli_gradient",
    "affine_update",
    "bit_affine",
    "bit_outer",
    "optimiser_step",
)

Result = TypeVar("Result")


class Status(NamedTuple):
    """Which kernels run on this machine's CPU, and why."""

    in_use: str
    reason: str


@functools.cache
def status() -> Status:
    """Which kernels are in use ("native" or "reference"), and why; loads them if they are.

    `WAKESLEEP_KERNELS` may be `native` or `reference`; `WAKESLEEP_INSTRUCTION_SET` names an
    instruction set for the native ones. Both are read once.
    """
    wanted = _environment(VARIABLE, ("native", "reference"))
    instruction_set = _environment(INSTRUCTIONS_VARIABLE, INSTRUCTION_SETS)
    if wanted == "reference":
        return Status("reference", f"{VARIABLE}=reference asks for the pure-JAX kernels")
    try:
        chosen = _load(instruction_set)
    except OSError as error:
        if asked := _asked(wanted, instruction_set):
            raise UsageError(f"{asked}, but {error}") from error
        return Status("reference", str(error))
    return Status("native", f"compiled kernels, {chosen} instructions")


def _environment(variable: str, choices: Sequence[str]) -> str:
    value = os.environ.get(variable, "")
    if value and value not in choices:
        raise UsageError(f"{variable}={value} is none of {', '.join(choices)}")
    return value


def _asked(wanted: str, instruction_set: str) -> str:
    if instruction_set:
        return f"{INSTRUCTIONS_VARIABLE}={instruction_set}"
    return f"{VARIABLE}={wanted}" if wanted else ""


def _find() -> Path:
    # Through the installation and not beside this file: an editable install has them apart.
    try:
        path = Path(str(metadata.distribution("wakesleep").locate_file(LIBRARY)))
    except metadata.PackageNotFoundError as error:
        raise OSError(
            "there are no compiled kernels: wakesleep is on the path but not installed"
        ) from error
    if not path.exists():
        raise OSError("there are no compiled kernels: wakesleep was built without a C++17 compiler")
    return path


def _load(instruction_set: str) -> str:
    library = ctypes.CDLL(str(_find()))
    library.wakesleep_select.restype = ctypes.c_char_p
    chosen = library.wakesleep_select(instruction_set.encode())
    if chosen is None:
        raise UsageError(
            f"{INSTRUCTIONS_VARIABLE}={instruction_set}, but this processor or build has no such "
            f"instructions"
        )
    for target in _TARGETS:
        symbol = getattr(library, f"wakesleep_{target}", None)
        if symbol is None:
            raise UsageError(
                "the compiled kernels are older than their callers: install wakesleep again"
            )
        handler = jax.ffi.pycapsule(symbol)
        jax.ffi.register_ffi_target(f"wakesleep_{target}", handler, platform="cpu")
    return str(chosen.decode())


def serves(*arrays: Array) -> bool:
    """Whether the native kernels are in use and these arrays are of their type, float32."""
    return status().in_use == "native" and all(array.dtype == jnp.float32 for array in arrays)


def on_cpu(
    compiled: Callable[..., Result], default: Callable[..., Result], *operands: Any
) -> Result:
    """What compiled kernels give where XLA compiles for a CPU; elsewhere what pure JAX does.

    Where JAX has nothing but a CPU the second is not even traced: for random bits that takes longer
    than all else of a step.
    """
    if _cpu_alone():
        return compiled(*operands)
    result: Result = lax.platform_dependent(*operands, cpu=compiled, default=default)
    return result


@functools.cache
def _cpu_alone() -> bool:
    return set(backend.backends()) == {"cpu"}


def call(target: str, shapes: Sequence[tuple[int, ...]], *arrays: Array) -> list[Array]:
    """Run one kernel; the results have the given shapes, of which all but the last are samples."""
    results = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    kernel = jax.ffi.ffi_call(f"wakesleep_{target}", results, vmap_method="sequential")
    return list(kernel(*arrays))
