"""Hosts of their own: network namespaces joined by a cable, which is pulled."""

import subprocess

import pytest

from tests.processes.hosts import ended, no_hosts, place, pull_cable, together, train, two_hosts
from tests.processes.test_training import SMALL, STATED, ends_alone, same_weights, wait_for_epochs

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(no_hosts()), reason=str(no_hosts()))]


def listening(host):
    words = ["ip", "netns", "exec", host, "ss", "-ltnH"]
    lines = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[3].rpartition(":")[0] for line in lines}


def test_a_pulled_cable_ends_both_and_the_run_goes_on(tmp_path):
    alone, run = tmp_path / "alone", tmp_path / "run"
    words = (*SMALL, "--epochs", 60, "--quiet")
    with two_hosts() as (hosts, addresses):
        two = together(f"{addresses[0]}:4711", 2, *words, "--out", run, hosts=hosts)
        wait_for_epochs(run, 2, *two)
        # Each listens at its own address on the cable, and nowhere else.
        assert [listening(host) for host in hosts] == [{each} for each in addresses]
        pull_cable(hosts[1])
        assert sum(map(ends_alone, two)) < STATED
    assert ended(train(*words, "--out", alone, "--shares", 2))[0] == 0
    code, _, err = ended(train("--resume", run, "--quiet", "--no-diagnostics"))
    assert code == 0, err
    same_weights(alone, run, 0)


def test_a_coordinator_that_cannot_be_reached(tmp_path):
    words = (*SMALL, "--quiet", "--out", tmp_path / "run")
    with two_hosts() as (hosts, addresses):
        other = place(f"{addresses[1]}:4711", 0, 2)
        code, _, err = ended(train(*words, *other, host=hosts[0]))
        assert code == 2
        assert "Cannot assign requested address" in err
