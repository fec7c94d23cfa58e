"""Processes that cannot train together say why before training, each in one sentence."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from wakesleep.errors import UsageError, WakesleepError
from wakesleep.processes import joining
from wakesleep.processes.joining import join
from wakesleep.processes.place import Place, free_address
from wakesleep.processes.team import Team


@pytest.fixture
def in_a_hurry(monkeypatch):
    monkeypatch.setattr(joining, "SECONDS_TO_JOIN", 1.0)


def refusals(*places):
    """What each process, here a thread, is told."""

    def refusal(place):
        with pytest.raises(WakesleepError) as told:
            join(place, {})
        return str(told.value)

    with ThreadPoolExecutor() as threads:
        return list(threads.map(refusal, places))


def test_who_does_not_come_is_named_and_who_finds_nobody_says_so(in_a_hurry):
    address = free_address()
    (alone,) = refusals(Place(address, 0, 3))
    assert alone.startswith(f"processes 1, 2 of 3 did not come to {address} within 1.0 s")
    (lost,) = refusals(Place(address, 1, 3))
    assert lost.startswith(f"nobody answers at {address}")


def test_another_count_and_a_number_given_twice_are_refused(in_a_hurry):
    address = free_address()
    zero, one, other_count = refusals(*(Place(address, i, n) for i, n in ((0, 3), (1, 3), (2, 4))))
    assert "process 2 of 3 did not come" in zero
    assert one.startswith("process 0 of 3 is gone")
    assert "was started with --process-count 3, not 4" in other_count


def test_something_else_at_the_coordinators_address_is_found_out(in_a_hurry):
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        address = f"127.0.0.1:{stranger.getsockname()[1]}"

        def answer():
            with stranger.accept()[0] as caller:
                caller.sendall(b"HTTP/1.1 400 Bad Request\r\n")

        answering = threading.Thread(target=answer)
        answering.start()
        (told,) = refusals(Place(address, 1, 2))
        answering.join()
    assert told.startswith(f"what answers at {address} is not process 0 of a training")


@pytest.mark.parametrize("name", ["wakesleep", "jax", "kernels", "--seed"])
def test_other_versions_and_options_are_refused_in_the_same_words(name, monkeypatch):
    def by_all(self, value):
        return [value, {**value, name: "another", "host": "elsewhere"}]

    monkeypatch.setattr(Team, "by_all", by_all)
    with pytest.raises(UsageError, match=f"process 1 on elsewhere has {name} another, process 0"):
        joining._check_alike(Team(0, 2), {"--seed": "0"})
