"""`wakesleep info`."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from wakesleep.errors import UsageError


@dataclass
class Info:
    """What is in use here: versions, devices, kernels, data. Or what a training would cost.

    Example: wakesleep info --cost "nade/nade 500" --features 784 --rows 1000000
    """

    json: bool = False
    """Print a JSON object instead of lines."""
    cost: str | None = None
    """An architecture: foretell the time of an epoch and the memory of its training here by the
    default recipe, from its arithmetic and rates that are measured in a few seconds."""
    features: int | None = None
    """For --cost: the bits in a row."""
    rows: int | None = None
    """For --cost: the rows of the training set."""

    def run(self) -> int:
        """Print it."""
        facts = self._facts() if self.cost is None else self._cost(self.cost)
        if self.json:
            print(json.dumps(facts))
            return 0
        for name, value in (facts if self.cost is None else _words(facts)).items():
            print(f"{name:10} {', '.join(value) if isinstance(value, list) else value}")
        return 0

    def _cost(self, architecture: str) -> dict[str, Any]:
        if self.features is None or self.rows is None:
            missing = "--features" if self.features is None else "--rows"
            raise UsageError(
                f"--cost needs {missing} as well, as in --cost '{architecture}' --features 784 "
                "--rows 50000"
            )
        from wakesleep.recipe import Recipe
        from wakesleep.training.cost import foretell

        return asdict(foretell(architecture, self.features, self.rows, Recipe()))

    def _facts(self) -> dict[str, Any]:
        if self.features is not None or self.rows is not None:
            raise UsageError("--features and --rows are for --cost: give it an architecture")
        import os
        import platform

        import equinox
        import jax
        import optax

        import wakesleep
        from wakesleep import kernels
        from wakesleep.compilation_cache import cache_status
        from wakesleep.data import list_datasets

        in_use, reason = kernels.status()
        return {
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


def _words(cost: dict[str, Any]) -> dict[str, str]:
    """The same for people."""
    from wakesleep.report.run_view import duration

    updates = f"{cost['steps']:,} updates of {cost['batch_size']} rows"
    return {
        "parameters": f"{cost['parameters']:,}",
        "update": f"{1e3 * cost['step_seconds']:.2f} ms",
        "epoch": f"{duration(cost['epoch_seconds'])} for {updates}, validation not counted",
        "memory": f"{cost['memory'] / 1e6:,.0f} MB",
    }
