"""What XLA compiled is kept on disk, so that no process compiles the same thing twice.

JAX's own persistent cache does the work, with a lock for many processes and a largest size. It is
told of it by environment variables, so that `--help` need not import it, and by its configuration
where a person imported it first.
"""

import hashlib
import os
import platform
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path

SWITCH = "WAKESLEEP_CACHE"
"""`off`, or another folder than the user's cache folder."""

MOST_BYTES = 2**29

CPUINFO = Path("/proc/cpuinfo")


def keep_compiled(environment: MutableMapping[str, str] = os.environ) -> None:
    """Turn the cache on, unless it is off or the user has one."""
    folder = cache_folder(environment)
    if folder is None or "JAX_COMPILATION_CACHE_DIR" in environment or _jax_has_one():
        return
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        # A home that cannot be written to: processes compile anew, as they would without a cache.
        return
    settings: dict[str, str | int] = {
        "jax_compilation_cache_dir": str(folder),
        "jax_compilation_cache_max_size": MOST_BYTES,
        # Most of what we compile takes milliseconds, a thousand times.
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    environment.update({name.upper(): str(value) for name, value in settings.items()})
    if "jax" in sys.modules:
        _configure(settings)


def _jax_has_one() -> bool:
    """Whether a program that imported JAX before us has given it a cache."""
    jax = sys.modules.get("jax")
    return jax is not None and bool(jax.config.jax_compilation_cache_dir)


def _configure(settings: Mapping[str, str | int]) -> None:
    """Tell a JAX that has read its environment, and may have compiled something, already."""
    import jax
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    for name, value in settings.items():
        jax.config.update(name, value)
    reset_cache()


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
