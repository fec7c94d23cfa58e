"""What a person reads when a command fails: one sentence, of a length that can be read."""

import errno
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wakesleep.errors import UsageError

LONGEST = 2000
"""Characters of a sentence: whoever gives an endless name sees its beginning and its end."""

WRONG_NAME = {
    *(errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOENT)
}
"""How the system says that a file or folder was named wrongly."""


def sentence(error: BaseException) -> str:
    """What went wrong."""
    if isinstance(error, MemoryError):
        return _shortened(f"there is not enough memory for this ({error})")
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return _shortened(f"{place}{error.strerror}")
    return _shortened(str(error))


def exit_code(error: BaseException) -> int:
    """2 for wrong usage, 1 for a failure."""
    wrong_name = isinstance(error, OSError) and error.errno in WRONG_NAME
    return 2 if wrong_name or isinstance(error, UsageError) else 1


@contextmanager
def warnings_as_sentences() -> Iterator[None]:
    """Within this block a warning of ours is a sentence too, without a line of code."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *arguments: Any, **more: Any) -> None:
        if category is UserWarning:
            print(f"wakesleep: {_shortened(str(message))}", file=sys.stderr)
        else:
            usual(message, category, *arguments, **more)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _shortened(text: str) -> str:
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]} … {text[-half:]}"
