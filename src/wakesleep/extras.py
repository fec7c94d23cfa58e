"""Libraries that not everybody needs: what to install, in one sentence, where one is missing."""

import importlib.util

from wakesleep.errors import UsageError


def need(extra: str, *modules: str) -> None:
    """Refuse to go on where a library of an extra is not installed, and say how to have it."""
    absent = [name for name in modules if importlib.util.find_spec(name) is None]
    if absent:
        raise UsageError(
            f"this needs {' and '.join(absent)}, which {'is' if len(absent) == 1 else 'are'} not "
            f"installed: pip install 'wakesleep[{extra}]'"
        )
