"""Where a number came from: the commit of the code and the machine it ran on. No JAX here."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path


def commit() -> str:
    """The commit of the code that runs, marked if it was changed; else the installed version."""
    try:
        name = _git("rev-parse", "--short=12", "HEAD").stdout.strip()
        # Results that were written meanwhile are no change of the code.
        changed = _git("diff", "--quiet", "HEAD", "--", ":/", ":(top,exclude)results", fails=True)
    except (OSError, subprocess.CalledProcessError):
        return f"wakesleep {version('wakesleep')}"
    return f"{name}-dirty" if changed.returncode else name


def _git(*words: str, fails: bool = False) -> subprocess.CompletedProcess[str]:
    """What git answers about the folder of the code; it may fail only where that is an answer."""
    here = Path(__file__).parent
    return subprocess.run(
        ["git", *words], cwd=here, capture_output=True, text=True, check=not fails
    )


def machine() -> dict[str, object]:
    """Processor, cores and the load when it was asked for."""
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "jax": version("jax"),
    }


def _processor() -> str:
    table = Path("/proc/cpuinfo")
    lines = table.read_text(encoding="utf-8").splitlines() if table.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
