"""Every file operation fails once in turn; afterwards the same work comes to the same end."""

import shutil
import time
import warnings
from unittest.mock import patch

import pytest

from tests.faults.injection import FAULTS, Injector, Killed
from tests.faults.scenarios import SCENARIOS
from wakesleep.cli.failures import exit_code, sentence
from wakesleep.errors import WakesleepError

SHORT_SUITE = 18
"""Faults of each scenario in the short suite, spread evenly; the long one has them all."""


def check_sentence(error):
    assert exit_code(error) in (1, 2)
    assert 0 < len(sentence(error)) < 2000
    assert "\n" not in sentence(error)


class Attacked:
    """A scenario, what its folder held before the work, and what the work comes to."""

    def __init__(self, kind, place):
        self.folder = place / "folder"
        self.folder.mkdir()
        self.scenario = kind(self.folder)
        self.scenario.prepare()
        self.before = place / "before"
        shutil.copytree(self.folder, self.before)
        self.operations = self.attempt(Injector(self.folder))
        self.outcome = self.scenario.outcome()

    def attempt(self, injector):
        """Do the work from the start with an injector; the operations it saw."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.before, self.folder)
        with warnings.catch_warnings(), injector.active():
            warnings.simplefilter("ignore")
            try:
                self.scenario.work()
            except Killed:
                assert injector.fault == "kill"
            except (WakesleepError, OSError) as error:
                check_sentence(error)
        return injector.operations

    def faults(self):
        """Every operation with every fault it can have."""
        return [
            (number, fault)
            for number, operation in enumerate(self.operations)
            for fault in FAULTS
            if fault != "short" or operation == "write"
        ]

    def survives(self, number, fault):
        """Fail once, do it again, and compare."""
        self.attempt(Injector(self.folder, number, fault))
        self.scenario.work()
        assert self.scenario.outcome() == self.outcome, (number, fault, self.operations[number])


@pytest.fixture(params=SCENARIOS, ids=lambda kind: kind.__name__.lower())
def attacked(request, tmp_path):
    # Compiled functions are kept from candidate to candidate: these are many small trainings.
    with patch("wakesleep.runs.selection.jax.clear_caches"):
        yield Attacked(request.param, tmp_path)


def test_a_fault_costs_nothing_but_the_time_to_do_it_again(attacked):
    faults = attacked.faults()
    chosen = faults[:: max(1, len(faults) // SHORT_SUITE)]
    assert len(chosen) >= min(15, len(faults))
    for number, fault in chosen:
        attacked.survives(number, fault)


@pytest.mark.slow
def test_every_fault_of_every_operation(attacked, record_property):
    began = time.monotonic()
    for number, fault in attacked.faults():
        attacked.survives(number, fault)
    record_property("faults", len(attacked.faults()))
    print(f"{len(attacked.faults())} faults in {time.monotonic() - began:.0f} s")
