"""Missing bits: posterior draws and probabilities of what was not observed."""

from wakesleep.completion.completing import Completion, complete

__all__ = ["Completion", "complete"]
