"""All that several processes need of JAX and that JAX does not promise to keep.

There is no public way to say at which address gloo listens, nor to ask JAX what a launcher said
without joining the others at once. Where a version of JAX has none of it, one sentence says so.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from typing import Any

from wakesleep.errors import WakesleepError


def cpu_client_at(address: str) -> Callable[[], Any]:
    """What makes JAX's processor client, whose gloo listens at this address alone.

    JAX's distributed runtime must run. Left to itself gloo listens at whatever the machine's name
    stands for, often 127.0.1.1, where no other machine finds it.
    """
    with _as_of_this_jax():
        from jax._src import distributed, xla_bridge
        from jaxlib import _jax

        gloo = _jax.make_gloo_tcp_collectives(distributed.global_state.client, hostname=address)
        return partial(xla_bridge.make_cpu_client, gloo)


def told_by_launcher() -> tuple[str, int, int] | None:
    """Coordinator, number and count of processes, by SLURM or Open MPI; None without them."""
    with _as_of_this_jax():
        from jax._src.clusters.ompi_cluster import OmpiCluster
        from jax._src.clusters.slurm_cluster import SlurmCluster

        for cluster in (SlurmCluster, OmpiCluster):
            if cluster.is_env_present():
                address = cluster.get_coordinator_address(None, None)
                return address, cluster.get_process_id(), cluster.get_process_count()
    return None


@contextmanager
def _as_of_this_jax() -> Iterator[None]:
    try:
        yield
    except (ImportError, AttributeError, TypeError) as error:
        raise WakesleepError(
            f"JAX {version('jax')} is not as several processes need it ({error}): train by one "
            "process, or install JAX 0.10.2"
        ) from None
