"""Errors a user can act on. Each carries one sentence; the command line prints just that."""


class WakesleepError(Exception):
    """Something failed that is not a bug in the program (exit code 1)."""


class UsageError(WakesleepError, ValueError):
    """What was asked for cannot be (exit code 2)."""


class DataError(UsageError):
    """A data file or array is not what it should be."""
