"""The same results whatever the machine: number of threads, instruction set, kind of kernels."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.kernels import oracle
from tests.kernels.digest import digest
from wakesleep.kernels import native

needs_native = pytest.mark.skipif(
    native.status().in_use != "native", reason="the compiled kernels are not in use"
)


def digest_elsewhere(folder, **environment):
    """The digest of a new process with other settings, or None if the processor lacks them."""
    path = folder / "digest.npz"
    run = subprocess.run(
        [sys.executable, "-m", "tests.kernels.digest", path],
        env=os.environ | {"JAX_PLATFORMS": "cpu"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if "has no such instructions" in run.stderr:
        return None
    assert run.returncode == 0, run.stderr
    with np.load(path) as loaded:
        return dict(loaded)


@needs_native
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_bits_do_not_depend_on_the_number_of_threads(tmp_path, threads):
    elsewhere = digest_elsewhere(tmp_path, NPROC=str(threads))
    for name, here in digest().items():
        np.testing.assert_array_equal(elsewhere[name], here, err_msg=name)


@needs_native
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        *(("WAKESLEEP_INSTRUCTION_SET", name) for name in native.INSTRUCTION_SETS),
        ("WAKESLEEP_KERNELS", "reference"),
    ],
)
def test_instruction_sets_agree(tmp_path, variable, value):
    elsewhere = digest_elsewhere(tmp_path, **{variable: value})
    if elsewhere is None:
        pytest.skip(f"this processor has no {value} instructions")
    for name, here in digest().items():
        oracle.assert_round_off(elsewhere[name], here)
