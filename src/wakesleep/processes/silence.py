"""Connections of this process that end when the other side falls silent.

Gloo waits for ever for a machine whose cable was pulled. It opens its connections itself, so that
they are found among this process's open files, and the kernel is told to give them up.
"""

import contextlib
import os
import socket
import stat
from pathlib import Path

from wakesleep.processes.lines import HEARTBEAT

IDLE, BETWEEN, PROBES = 4, 2, 3
"""After so many idle seconds the kernel asks, so often, whether the other side is there."""


def give_up_on_silence() -> int:
    """End every connection that hears nothing for `HEARTBEAT` seconds; how many there are."""
    guarded = 0
    for name in sorted(path.name for path in Path("/dev/fd").iterdir()):
        with contextlib.suppress(OSError):
            descriptor = int(name)
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                continue
            with socket.socket(fileno=os.dup(descriptor)) as connection:
                guarded += _guard(connection)
    return guarded


def _guard(connection: socket.socket) -> bool:
    if connection.family not in (socket.AF_INET, socket.AF_INET6):
        return False
    connection.getpeername()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", IDLE),
        ("TCP_KEEPINTVL", BETWEEN),
        ("TCP_KEEPCNT", PROBES),
        ("TCP_USER_TIMEOUT", 1000 * HEARTBEAT),
    ):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return True
