"""Ctrl-C: the first asks for a stop at the next safe point, the second stops at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Whether a stop was asked for."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        """For `fit`'s should_stop."""
        return self.asked


@contextmanager
def stop_on_interrupt() -> Iterator[StopRequest]:
    """Within this block SIGINT and SIGTERM ask for a stop; a second one has its usual effect."""
    request = StopRequest()
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: FrameType | None) -> None:
        del frame
        request.asked = True
        signal.signal(number, usual[signal.Signals(number)])

    for number in usual:
        signal.signal(number, ask)
    try:
        yield request
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
