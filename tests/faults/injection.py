"""Failing the n-th operation on the files of one folder: as a full or broken disk, or by a kill.

Every open, write, read, fsync, rename, removal and new folder below a path is counted while an
`Injector` is active, and one of them fails. After a kill nothing reaches the disk any more, so
that the folder holds what a killed process would have left.
"""

import builtins
import errno
import io
import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from wakesleep import storage

FAULTS = ("ENOSPC", "EIO", "EINTR", "short", "kill")


class Killed(BaseException):
    """Stands for SIGKILL."""


@dataclass
class Injector:
    """Counts operations below `folder`; the `failing`-th meets the fault."""

    folder: Path
    failing: int = -1
    fault: str = "EIO"
    operations: list[str] = field(default_factory=list)
    dead: bool = False
    descriptors: set[int] = field(default_factory=set)

    def inside(self, path) -> bool:
        """Whether a path, or a descriptor that was opened here, is the folder's."""
        if isinstance(path, int):
            return path in self.descriptors
        return os.fspath(path).startswith(str(self.folder))

    def step(self, operation: str, shorten=lambda: None) -> None:
        """Count an operation, and fail if it is its turn."""
        if self.dead:
            raise Killed
        self.operations.append(operation)
        if len(self.operations) - 1 != self.failing:
            return
        if self.fault in ("short", "kill"):
            shorten()
        if self.fault == "kill":
            self.dead = True
            raise Killed
        number = getattr(errno, "ENOSPC" if self.fault == "short" else self.fault)
        raise OSError(number, os.strerror(number))

    @contextmanager
    def active(self):
        """Within this block operations are counted, and one fails."""
        with ExitStack() as stack:
            for owner, name in (
                *((os, name) for name in ("replace", "rename", "unlink", "mkdir", "rmdir")),
                *((os, name) for name in ("open", "fsync", "fdopen")),
                *((builtins, "open"), (io, "open"), (storage, "safe_open")),
            ):
                wrapped = getattr(self, f"_{name}", None) or self._named(name)
                stack.enter_context(patch.object(owner, name, wrapped(getattr(owner, name))))
            yield self

    def _named(self, name):
        def wrap(real):
            def call(path, *arguments, **options):
                if self.inside(path):
                    self.step(name)
                return real(path, *arguments, **options)

            return call

        return wrap

    def _open(self, real):
        def call(path, *arguments, **options):
            if isinstance(path, int) or not self.inside(path):
                return real(path, *arguments, **options)
            self.step("open")
            opened = real(path, *arguments, **options)
            if isinstance(opened, int):
                self.descriptors.add(opened)
                return opened
            return FaultyFile(opened, self)

        return call

    def _fdopen(self, real):
        def call(descriptor, *arguments, **options):
            file = real(descriptor, *arguments, **options)
            return FaultyFile(file, self) if self.inside(descriptor) else file

        return call


class FaultyFile:
    """A file whose reads and writes are counted."""

    def __init__(self, file, injector):
        self._file = file
        self._injector = injector

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        self._file.__enter__()
        return self

    def __exit__(self, *error):
        return self._file.__exit__(*error)

    def __iter__(self):
        self._injector.step("read")
        return iter(self._file)

    def write(self, data):
        def shorten():
            self._file.write(data[: len(data) // 2])
            self._file.flush()

        self._injector.step("write", shorten)
        return self._file.write(data)

    def read(self, *arguments):
        self._injector.step("read")
        return self._file.read(*arguments)
