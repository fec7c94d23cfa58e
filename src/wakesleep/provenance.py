"""Where a number came from: the commit of the code and the machine it ran on. No JAX here."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path


def commit() -> str:
    """The commit of the code that runs, marked if it was changed; else the installed version."""
    git = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    here = Path(__file__).parent
    try:
        described = subprocess.run(git, cwd=here, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return f"wakesleep {version('wakesleep')}"
    return described.stdout.strip()


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
