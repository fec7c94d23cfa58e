"""What XLA compiled is kept on disk, so that no process compiles the same thing twice.

JAX's own persistent cache does the work, with a lock for many processes and a largest size. It is
told of it by environment variables, before it is imported: `--help` costs nothing.
"""

import hashlib
import os
import platform
import sys
from collections.abc import MutableMapping
from pathlib import Path

SWITCH = "WAKESLEEP_CACHE"
"""`off`, or another folder than the user's cache folder."""

MOST_BYTES = 2**29

CPUINFO = Path("/proc/cpuinfo")


def keep_compiled(environment: MutableMapping[str, str] = os.environ) -> None:
    """Turn the cache on, unless it is off, the user has one, or JAX was imported already."""
    folder = cache_folder(environment)
    if folder is None or "JAX_COMPILATION_CACHE_DIR" in environment or "jax" in sys.modules:
        return
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        # A home that cannot be written to: processes compile anew, as they would without a cache.
        return
    environment["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    environment["JAX_COMPILATION_CACHE_MAX_SIZE"] = str(MOST_BYTES)
    # Most of what we compile takes milliseconds, a thousand times.
    environment["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    environment["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


def cache_folder(environment: MutableMapping[str, str] = os.environ) -> Path | None:
    """Where compiled code of this machine's kind is kept; None where the cache is off."""
    chosen = environment.get(SWITCH, "")
    if chosen == "off":
        return None
    parent = Path(chosen) if chosen else _users_cache(environment) / "wakesleep"
    # Two machines may share a home: neither may run the other's instructions.
    kind = hashlib.sha256(_instruction_set().encode()).hexdigest()[:12]
    return parent / f"compiled-{kind}"


def cache_status(environment: MutableMapping[str, str] = os.environ) -> str:
    """For `wakesleep info`: where it is and how large."""
    folder = environment.get("JAX_COMPILATION_CACHE_DIR")
    if not folder:
        return f"off ({SWITCH}={environment.get(SWITCH, '')}, or its folder cannot be written)"
    sizes = [file.stat().st_size for file in Path(folder).glob("*") if file.is_file()]
    return f"{folder} ({sum(sizes) / 1e6:.1f} MB in {len(sizes)} files)"


def _users_cache(environment: MutableMapping[str, str]) -> Path:
    if sys.platform == "win32":
        return Path(environment.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _instruction_set() -> str:
    """What tells the compiler's targets apart: the processor's flags, where they can be read."""
    if CPUINFO.exists():
        lines = CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
        flags = [line for line in lines if line.startswith(("flags", "Features"))]
        return f"{platform.machine()} {flags[:1]}"
    return f"{platform.machine()} {platform.processor()}"
