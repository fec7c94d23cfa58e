"""How the processes of one training find each other, and that they are of the same kind."""

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.backend import register_backend_factory
from jax.sharding import Mesh

from wakesleep import shares
from wakesleep.errors import UsageError
from wakesleep.kernels import native
from wakesleep.processes.inside_jax import cpu_client_at
from wakesleep.processes.lines import Line, LostProcessError
from wakesleep.processes.place import Place, free_address
from wakesleep.processes.silence import give_up_on_silence
from wakesleep.processes.team import ALONE, Team

SECONDS_TO_JOIN = 120
"""All processes must have come within this time."""
SECONDS_TO_GREET = 5
GONE_BEFORE = "a process is gone before the training began: start all of them again"
OPTIONS = {
    "jax_enable_preemption_service": False,
    # What was compiled for one process is not what several run.
    "jax_enable_compilation_cache": False,
    "jax_check_proxy_envs": False,
}
PACKAGES = ("wakesleep", "jax", "jaxlib", "numpy", "optax", "equinox")


def join(place: Place, settings: Mapping[str, str]) -> Team:
    """Wait for the others, and check that all are alike.

    Args:
        place: of this process.
        settings: what must be the same for all, by what it is called.
    """
    if place.count == 1:
        return ALONE
    lines = _gather(place) if place.index == 0 else [_reach(place)]
    team = Team(place.index, place.count, lines)
    try:
        _check_alike(team, settings)
        _connect_arrays(team, lines[0].own_address)
    except BaseException:
        team.close()
        raise
    return team


def _gather(place: Place) -> list[Line]:
    """Process 0 waits for all others at its address."""
    deadline = time.monotonic() + SECONDS_TO_JOIN
    there: dict[int, Line] = {}
    with _listening(place) as listener:
        while len(there) < place.count - 1:
            listener.settimeout(max(0.1, deadline - time.monotonic()))
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                missing = [i for i in range(1, place.count) if i not in there]
                Team(lines=tuple(there.values())).close()
                raise UsageError(
                    f"{_listed(missing)} of {place.count} did not come to {place.coordinator} "
                    f"within {SECONDS_TO_JOIN} s: start each with the same --coordinator and "
                    "--process-count, and a --process-id of its own"
                ) from None
            line = Line(connection)
            try:
                number, refusal = _greeted(place, there, line.receive(SECONDS_TO_GREET))
                line.send({"refusal": refusal})
            except LostProcessError:
                line.close()
                continue
            if refusal is None:
                there[number] = line
            else:
                line.close()
    return [there[number] for number in sorted(there)]


def _greeted(place: Place, there: Mapping[int, Line], greeting: object) -> tuple[int, str | None]:
    """The number of a process that came, and why it may not stay."""
    if not isinstance(greeting, dict) or set(greeting) != {"wakesleep", "count"}:
        return 0, "it does not speak as we do"
    number, count = greeting["wakesleep"], greeting["count"]
    if count != place.count:
        return number, f"process 0 was started with --process-count {place.count}, not {count}"
    if number in there or not 0 < number < place.count:
        return number, f"there is a process {number} already: give each a --process-id of its own"
    return number, None


def _listening(place: Place) -> socket.socket:
    where = place.resolved()
    listener = socket.socket(where[0], socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(where[1])
        listener.listen(place.count)
    except OSError as error:
        listener.close()
        raise UsageError(
            f"process 0 cannot listen at {place.coordinator} ({error.strerror}): give it an "
            "address of this machine and a free port"
        ) from None
    return listener


def _reach(place: Place) -> Line:
    """Another process looks for process 0 until it answers."""
    deadline = time.monotonic() + SECONDS_TO_JOIN
    _, where = place.resolved()
    while True:
        try:
            line = Line(socket.create_connection((where[0], place.port), timeout=SECONDS_TO_GREET))
            break
        except OSError as error:
            if time.monotonic() > deadline:
                raise UsageError(
                    f"nobody answers at {place.coordinator} ({error}): start process 0 there, or "
                    "correct --coordinator"
                ) from None
            time.sleep(0.2)
    try:
        line.send({"wakesleep": place.index, "count": place.count})
        refusal = line.receive(SECONDS_TO_JOIN)["refusal"]
    except (LostProcessError, TypeError, KeyError):
        line.close()
        raise UsageError(
            f"what answers at {place.coordinator} is not process 0 of a training: correct "
            "--coordinator"
        ) from None
    if refusal is not None:
        line.close()
        raise UsageError(f"process 0 at {place.coordinator} refused this one: {refusal}")
    return line


def _check_alike(team: Team, settings: Mapping[str, str]) -> None:
    """Refuse processes of other versions or with other settings, in the same words everywhere."""
    mine = {name: version(name) for name in PACKAGES}
    mine |= {"kernels": native.status().reason, **settings}
    everyone = team.by_all({"host": socket.gethostname(), **mine})
    for name in {name: None for one in everyone for name in one if name != "host"}:
        for number, other in enumerate(everyone):
            if other.get(name) != everyone[0].get(name):
                raise UsageError(
                    f"process {number} on {other['host']} has {name} {other.get(name)}, process 0 "
                    f"on {everyone[0]['host']} has {everyone[0].get(name)}: all must have the same"
                )


def _connect_arrays(team: Team, address: str) -> None:
    """The mesh, by JAX's distributed runtime and gloo, listening at the given address alone.

    Once every process is connected the runtime's own service is left again: it would abort all
    processes when one is lost, and not let them say so or save anything.
    """
    _keep_native_words_apart()
    where = team.by_leader(free_address(address))
    for name, value in OPTIONS.items():
        jax.config.update(name, value)
    with _ending_if_one_is_lost(team):
        jax.distributed.initialize(
            where,
            team.count,
            team.index,
            cluster_detection_method="deactivate",
            initialization_timeout=SECONDS_TO_JOIN,
            coordinator_bind_address=where,
        )
        client = cpu_client_at(address)
        register_backend_factory("cpu", client, priority=0, fail_quietly=False)
        jax.config.update("jax_platforms", "cpu")
        team.mesh = Mesh(np.array(jax.devices()), (shares.AXIS,))
        if team.mesh.size != team.count:
            raise UsageError(
                f"{team.count} processes have {team.mesh.size} devices: unset JAX_NUM_CPU_DEVICES "
                "and the XLA_FLAGS that give a process more than one"
            )
        team.from_leader(jnp.zeros(1))
        jax.distributed.shutdown()
    give_up_on_silence()


@contextmanager
def _ending_if_one_is_lost(team: Team) -> Iterator[None]:
    """Within this block native code waits for the others, and aborts in its own words."""
    met = threading.Event()

    def watch(line: Line) -> None:
        line.lost.wait()
        if not met.is_set():
            os.write(sys.stderr.fileno(), f"wakesleep: {GONE_BEFORE}\n".encode())
            os._exit(1)

    for line in team.lines:
        threading.Thread(target=watch, args=(line,), daemon=True).start()
    try:
        yield
    except RuntimeError:
        # JAX may notice a moment before the line does.
        if any(line.lost.wait(1) for line in team.lines):
            raise LostProcessError(GONE_BEFORE) from None
        raise
    finally:
        met.set()


def _keep_native_words_apart() -> None:
    """Gloo prints to standard output, which is for results: those keep the way there."""
    sys.stdout.flush()
    sys.stdout = os.fdopen(os.dup(1), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _listed(numbers: list[int]) -> str:
    words = ", ".join(map(str, numbers))
    return f"process {words}" if len(numbers) == 1 else f"processes {words}"
