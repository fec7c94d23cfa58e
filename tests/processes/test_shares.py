"""The shares of a minibatch: whichever process has which, every estimator gives the same bits, and
what it gives with all rows at once up to rounding.

A second device stands in for a second process: the compiled step is the same. Devices are counted
once per Python process, so that this file's work is done in one of its own.
"""

import json
import os
import subprocess
import sys

import pytest

from tests.estimators.cases import CASES

FLAGS = (
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
    "--xla_force_host_platform_device_count=2"
)
OTHERS = ("order_agnostic", "contrastive divergence", "persistent chains", "autoregressive")
QUICK = ("reweighted (both)", "jsa")
# What is learnt from the notes of all rows may be rounded otherwise where they were gathered.
LEARNS_FROM_NOTES = ("nvil",)


def differences(names):
    command = [sys.executable, "-m", "tests.processes.two_devices", *names]
    environment = {**os.environ, "XLA_FLAGS": FLAGS}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(names):
    found = differences(names)
    assert list(found) == list(names)
    for name, each in found.items():
        assert each["moved"] > 1e-3, f"{name} learnt nothing"
        assert each["difference"] <= (1e-6 if name in LEARNS_FROM_NOTES else 0), name
        assert each["rounding"] < 3e-6, name


def test_a_step_does_not_depend_on_who_has_which_share():
    check(QUICK)


@pytest.mark.slow
def test_nor_does_it_with_any_other_estimator():
    check([name for name in (*CASES, *OTHERS) if name not in QUICK])
