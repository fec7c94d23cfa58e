"""One file from one address over HTTP: resumed, watched for stalls, never trusted."""

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from wakesleep.errors import WakesleepError

CHUNK = 1 << 16
LEAST_RATE = 512
"""Bytes per second below which an address counts as stalled."""

LARGEST = 1 << 30
"""More bytes than any known file has: an address that sends more is lying."""

Received = Callable[[int, int | None], None]
"""Told of the bytes that are there, and of how many there will be, if the server said so."""


class TransferError(Exception):
    """Why an address did not give its file, in a few words."""


@dataclass(frozen=True)
class Patience:
    """How long an address may be silent, in seconds, and how often it may break off."""

    timeout: float = 30.0
    attempts: int = 10


class _HttpOnly(urllib.request.HTTPRedirectHandler):
    """Redirections may lead elsewhere, but not out of HTTP."""

    def redirect_request(self, *arguments: Any) -> urllib.request.Request | None:
        check_scheme(arguments[-1])
        return super().redirect_request(*arguments)


def check_scheme(address: str) -> None:
    """Refuse what is no HTTP address, such as file: or ftp:."""
    if not address.lower().startswith(("http://", "https://")):
        raise TransferError(f"{address} is not an http or https address")


def transfer(address: str, part: Path, received: Received, patience: Patience) -> None:
    """Bring the file at `address` into `part`, going on after what is there already.

    Raises `TransferError`; what arrived stays in `part` for another attempt.
    """
    reason = ""
    for _ in range(patience.attempts):
        before = part.stat().st_size if part.exists() else 0
        try:
            _attempt(address, part, before, received, patience.timeout)
        except TransferError as error:
            reason = str(error)
            if not part.exists() or part.stat().st_size <= before:
                break
        else:
            return
    raise TransferError(reason)


def _attempt(address: str, part: Path, start: int, received: Received, timeout: float) -> None:
    check_scheme(address)
    headers = {"User-Agent": "wakesleep", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    opener = urllib.request.build_opener(_HttpOnly)
    try:
        request = urllib.request.Request(address, headers=headers)
        with opener.open(request, timeout=timeout) as response:
            kept = start if _continues(response, start) else 0
            with part.open("r+b" if kept else "wb") as file:
                file.seek(kept)
                file.truncate()
                _copy(response, file, kept, received, timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and start:
            # Nothing is left to send: the checksum decides whether that is the whole file.
            return
        raise TransferError(f"the server answered {error.code} {error.reason}") from error
    except TimeoutError as error:
        raise TransferError(f"nothing came for {timeout:g} s") from error
    except urllib.error.URLError as error:
        raise TransferError(_reason(error.reason, timeout)) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise TransferError(_reason(error, timeout)) from error


def _continues(response: http.client.HTTPResponse, start: int) -> bool:
    """Whether what comes belongs after the first `start` bytes; otherwise it starts anew."""
    if response.status != http.client.PARTIAL_CONTENT:
        return False
    if (response.headers.get("Content-Range") or "").startswith(f"bytes {start}-"):
        return True
    raise TransferError("the server sent another part of the file than was asked for")


def _copy(
    response: http.client.HTTPResponse,
    file: IO[bytes],
    done: int,
    received: Received,
    timeout: float,
) -> None:
    total = None if response.length is None else done + response.length
    if total is not None and total > LARGEST:
        raise TransferError(f"the server says {total} bytes, more than any file here has")
    since, counted = time.monotonic(), 0
    while chunk := response.read1(CHUNK):
        _write(file, chunk)
        done, counted = done + len(chunk), counted + len(chunk)
        received(done, total)
        if done > LARGEST:
            raise TransferError("the server does not stop sending")
        waited = time.monotonic() - since
        if waited > timeout:
            if counted < LEAST_RATE * waited:
                raise TransferError(f"fewer than {LEAST_RATE} bytes came per second")
            since, counted = time.monotonic(), 0
    if total is not None and done < total:
        raise TransferError(f"the connection ended after {done} of {total} bytes")


def _write(file: IO[bytes], chunk: bytes) -> None:
    """A full disk is no fault of the address: it ends everything, with its own sentence."""
    try:
        file.write(chunk)
    except OSError as error:
        raise WakesleepError(f"{file.name} could not be written: {error.strerror}") from error


def _reason(error: object, timeout: float) -> str:
    if isinstance(error, TimeoutError):
        return f"nothing came for {timeout:g} s"
    said = getattr(error, "strerror", None) or str(error)
    return f"the connection failed ({said or type(error).__name__})"
