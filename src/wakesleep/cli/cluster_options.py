"""Options of commands whose work can be done on a Dask cluster."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated

import tyro

from wakesleep.errors import UsageError


@dataclass(frozen=True)
class ClusterOptions:
    """Who does the work."""

    dask: Annotated[str | None, tyro.conf.arg(metavar="SCHEDULER")] = None
    """Work on the Dask cluster whose scheduler has this address, as in tcp://10.0.0.1:8786."""
    workers: int = 0
    """Work on a Dask cluster of so many processes that is started on this machine."""

    def check_choice(self, is_choice: bool) -> None:
        """Refuse a cluster for a training that is none of several."""
        if (self.dask or self.workers) and not is_choice:
            raise UsageError(
                "--dask and --workers train candidates side by side: give several learning rates, "
                "as in --learning-rate 0.001,0.01, or share one training by --processes"
            )

    def used(self) -> AbstractContextManager[None]:
        """Within this block the work is done there."""
        from wakesleep.pools import working_on

        return working_on(self.dask, self.workers)
