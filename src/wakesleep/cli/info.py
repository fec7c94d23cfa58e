"""`wakesleep info`."""

import json
from dataclasses import dataclass


@dataclass
class Info:
    """What is in use here: versions, devices, kernels, data.

    Example: wakesleep info
    """

    json: bool = False
    """Print a JSON object instead of lines."""

    def run(self) -> int:
        """Print it."""
        import os
        import platform

        import equinox
        import jax
        import optax

        import wakesleep
        from wakesleep import kernels
        from wakesleep.cli.compilation_cache import cache_status
        from wakesleep.data import list_datasets

        in_use, reason = kernels.status()
        facts = {
            "wakesleep": wakesleep.__version__,
            "python": platform.python_version(),
            "jax": jax.__version__,
            "equinox": equinox.__version__,
            "optax": optax.__version__,
            "devices": [str(device) for device in jax.devices()],
            "cores": os.cpu_count(),
            "kernels": f"{in_use} ({reason})",
            "compiled": cache_status(),
            "data": [one.name for one in list_datasets() if one.absence is None],
        }
        if self.json:
            print(json.dumps(facts))
            return 0
        for name, value in facts.items():
            print(f"{name:10} {', '.join(value) if isinstance(value, list) else value}")
        return 0
