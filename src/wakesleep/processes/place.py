"""Which process of a training this is. No JAX here."""

import os
import socket
from dataclasses import dataclass
from typing import Any

from wakesleep.errors import UsageError


@dataclass(frozen=True)
class Place:
    """Which of how many processes this is, and where process 0 is to be found.

    Attributes:
        coordinator: process 0's address, HOST:PORT.
        index: this process's number.
        count: how many there are.
    """

    coordinator: str
    index: int
    count: int

    def __post_init__(self) -> None:
        host, _, port = self.coordinator.rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65_536:
            raise UsageError(
                f"--coordinator {self.coordinator} must be HOST:PORT, as in 10.0.0.1:4711"
            )
        if not 0 <= self.index < self.count:
            raise UsageError(
                f"--process-id {self.index} must be from 0 to {self.count - 1}, below "
                "--process-count"
            )

    @property
    def port(self) -> int:
        """Of the coordinator."""
        return int(self.coordinator.rpartition(":")[2])

    def resolved(self) -> tuple[int, Any]:
        """The coordinator's address family, and its address in numbers."""
        host = self.coordinator.rpartition(":")[0].strip("[]")
        try:
            family, *_, where = socket.getaddrinfo(host, self.port, type=socket.SOCK_STREAM)[0]
        except OSError as error:
            raise UsageError(f"--coordinator {self.coordinator}: no such host ({error})") from None
        return family, where


def place_by_launcher() -> Place | None:
    """What SLURM's srun or Open MPI's mpirun tell this process; None without them."""
    sizes = [os.environ.get(name, "1") for name in ("SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE")]
    if sizes == ["1", "1"]:
        return None
    from wakesleep.processes.inside_jax import told_by_launcher

    told = told_by_launcher()
    return Place(*told) if told and told[-1] > 1 else None


def free_address(host: str = "127.0.0.1") -> str:
    """HOST:PORT of a port that is free at an address of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.bind((host, 0))
        port = trial.getsockname()[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
