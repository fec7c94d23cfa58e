"""A data set from its mirrors to a packed file, checked at every step."""

import hashlib
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from wakesleep.download.convert import write_converted
from wakesleep.download.sources import SOURCES, RemoteFile, Source
from wakesleep.download.transfer import Patience, TransferError, transfer
from wakesleep.errors import UsageError, WakesleepError
from wakesleep.options import Address, check_option

Progress = Callable[[str, int, int | None], None]
"""Told of a file's name, the bytes that are there, and how many there will be, if known."""

UNFINISHED = ".fetch"
"""The folder, beside the data, where downloads stay until they are whole."""


def fetch_dataset(
    name: str,
    folder: Path,
    *,
    mirrors: Sequence[str] = (),
    sha256: Mapping[str, str] | None = None,
    patience: Patience | None = None,
    progress: Progress = lambda name, done, total: None,
) -> Path:
    """Download a data set and write `<folder>/<name>.npz`, whole or not at all.

    Args:
        name: one of `SOURCES`.
        folder: made if it is not there.
        mirrors: addresses to try before the known ones; the file's name is appended.
        sha256: digests by file name, for files whose own is unknown.
        patience: with addresses that stall or break off.
        progress: told of every piece that arrives.
    """
    source = _source(name)
    for mirror in mirrors:
        check_option("mirror", mirror, Address())
    stated = _stated(sha256 or {}, source)
    files = {split: _checked(file, stated) for split, file in source.files.items()}
    unfinished = folder / UNFINISHED
    try:
        unfinished.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WakesleepError(f"{folder} cannot be written to: {error.strerror}") from error
    got = {
        split: _download(file, unfinished, mirrors, patience or Patience(), progress)
        for split, file in files.items()
    }
    path = folder / f"{name}.npz"
    write_converted(name, got, path)
    for file in got.values():
        file.unlink()
    if not any(unfinished.iterdir()):
        unfinished.rmdir()
    return path


def _source(name: str) -> Source:
    if name not in SOURCES:
        raise UsageError(f"data set '{name}' cannot be fetched; valid: {', '.join(SOURCES)}")
    return SOURCES[name]


def _stated(sha256: Mapping[str, str], source: Source) -> dict[str, str]:
    names = [file.name for file in source.files.values()]
    for name, digest in sha256.items():
        if name not in names:
            raise UsageError(f"{source.name} has no file '{name}'; valid: {', '.join(names)}")
        if len(digest) != 64 or set(digest.lower()) - set("0123456789abcdef"):
            raise UsageError(f"the SHA-256 of {name} must be 64 hexadecimal digits")
    return {name: digest.lower() for name, digest in sha256.items()}


def _checked(file: RemoteFile, stated: Mapping[str, str]) -> RemoteFile:
    """The file with the digest it must have; one without is never downloaded."""
    digest = file.sha256 or stated.get(file.name)
    if digest is None:
        raise UsageError(
            f"no checksum of {file.name} is known, so it is not downloaded unless you state it: "
            f"--sha256 {file.name}=DIGEST"
        )
    if file.name in stated and stated[file.name] != digest:
        raise UsageError(f"the SHA-256 of {file.name} is known to be {digest}, not what you state")
    return RemoteFile(file.name, digest, file.addresses)


def _download(
    file: RemoteFile, folder: Path, mirrors: Sequence[str], patience: Patience, progress: Progress
) -> Path:
    """The file with the right content, from the first address that gives it."""
    part = folder / f"{file.name}.part"
    whole = folder / file.name
    if whole.exists() and _digest(whole) == file.sha256:
        return whole
    addresses = [f"{mirror.rstrip('/')}/{file.name}" for mirror in mirrors]
    failures = []
    for address in (*addresses, *file.addresses):
        try:
            _try(address, file, part, patience, progress)
        except TransferError as error:
            failures.append(f"{urllib.parse.urlsplit(address).netloc or address}: {error}")
        else:
            part.replace(whole)
            return whole
    kept = part.exists() and part.stat().st_size > 0
    how = "; what arrived is kept, and the same command goes on with it" if kept else ""
    reasons = "; ".join(failures)
    raise WakesleepError(f"{file.name} could not be had from any address ({reasons}){how}")


def _try(
    address: str, file: RemoteFile, part: Path, patience: Patience, progress: Progress
) -> None:
    """Bring the file and check it; bytes that turn out wrong are thrown away."""
    resumed = part.exists()

    def received(done: int, total: int | None) -> None:
        progress(file.name, done, total)

    transfer(address, part, received, patience)
    if _digest(part) == file.sha256:
        return
    part.unlink()
    if not resumed:
        raise TransferError("its content has another SHA-256")
    # The beginning may have come from another address: this one deserves a whole try.
    _try(address, file, part, patience, progress)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
