"""What JAX does not promise to keep: it is there, in one place, and missed by name."""

from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

import wakesleep
from wakesleep.errors import WakesleepError
from wakesleep.processes.inside_jax import cpu_client_at, told_by_launcher

NAMES = (
    "jaxlib._jax:make_gloo_tcp_collectives",
    "jax._src.xla_bridge:make_cpu_client",
    "jax._src.distributed:global_state",
    "jax._src.clusters.slurm_cluster:SlurmCluster",
    "jax._src.clusters.ompi_cluster:OmpiCluster",
)


@pytest.mark.parametrize("place", NAMES)
def test_jax_has_it_and_where_it_has_not_a_sentence_says_so(place, monkeypatch):
    module, name = place.split(":")
    why = f"JAX {version('jax')} has no {name} in {module}: mend wakesleep/processes/inside_jax.py"
    assert hasattr(import_module(module), name), why
    # It asks for a runtime that is not there, but not before the last of the names.
    monkeypatch.setattr("jaxlib._jax.make_gloo_tcp_collectives", lambda client, hostname: None)
    monkeypatch.delattr(f"{module}.{name}")
    needs_it = told_by_launcher if "clusters" in module else lambda: cpu_client_at("127.0.0.1")
    with pytest.raises(WakesleepError, match=f"several processes need it .*{name}"):
        needs_it()


def test_nothing_else_looks_inside_jax():
    sources = Path(wakesleep.__file__).parent.rglob("*.py")
    inside = [path.name for path in sources if "jax._src" in path.read_text(encoding="utf-8")]
    assert inside == ["inside_jax.py"]
