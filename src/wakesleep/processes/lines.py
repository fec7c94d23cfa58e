"""A line between two processes: JSON messages, and the certainty that the other end lives.

Each end sends a sign of life every other second. An end that hears nothing for `HEARTBEAT` seconds
takes the other for lost, even if the network between them says nothing at all.
"""

import contextlib
import json
import queue
import socket
import struct
import threading
from typing import Any

from wakesleep.errors import WakesleepError

HEARTBEAT = 10
"""Seconds without a sign of life after which a process counts as lost."""
SIGN_EVERY = 2.0
LARGEST = 1 << 26
"""Bytes of a message; a schema is the largest that is ever sent."""

_LENGTH = struct.Struct(">I")


class LostProcessError(WakesleepError):
    """A process of the training is gone, and the others cannot go on without it."""


class Line:
    """One end of a connection, with threads that listen and that say that we live.

    Attributes:
        lost: set once the other end is gone.
    """

    def __init__(self, connection: socket.socket):
        self._socket = connection
        self._socket.settimeout(HEARTBEAT)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sending = threading.Lock()
        self._closed = threading.Event()
        self.lost = threading.Event()
        self._heard: queue.Queue[tuple[bool, Any]] = queue.Queue()
        for work in (self._listen, self._live):
            threading.Thread(target=work, daemon=True).start()

    @property
    def own_address(self) -> str:
        """That by which this machine reaches the other."""
        return str(self._socket.getsockname()[0])

    def send(self, value: Any) -> None:
        """Say something."""
        try:
            self._write(json.dumps(value).encode())
        except OSError as error:
            raise LostProcessError(f"the connection is gone ({error})") from None

    def receive(self, seconds: float | None = None) -> Any:
        """The next thing the other end said, waited for as long as it lives."""
        try:
            is_message, value = self._heard.get(timeout=seconds)
        except queue.Empty:
            raise LostProcessError(f"nothing was said for {seconds} s") from None
        if is_message:
            return value
        self._heard.put((False, value))
        raise LostProcessError(value)

    def close(self) -> None:
        """Hang up."""
        self._closed.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _write(self, message: bytes) -> None:
        with self._sending:
            self._socket.sendall(_LENGTH.pack(len(message)) + message)

    def _live(self) -> None:
        while not self._closed.wait(SIGN_EVERY):
            try:
                self._write(b"")
            except OSError:
                return

    def _listen(self) -> None:
        try:
            while True:
                (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
                if length > LARGEST:
                    raise ValueError("it does not speak as we do")
                if length:
                    self._heard.put((True, json.loads(self._read(length))))
        except TimeoutError:
            self._heard.put((False, f"no sign of life for {HEARTBEAT} s"))
        except (OSError, ValueError) as error:
            self._heard.put((False, str(error)))
        finally:
            self.lost.set()

    def _read(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            part = self._socket.recv(count - len(parts))
            if not part:
                raise OSError("it hung up")
            parts += part
        return bytes(parts)
