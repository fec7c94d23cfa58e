"""Models without latents: log p(x) needs neither samples nor a list of states."""

from dataclasses import dataclass
from threading import Event
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from wakesleep.evaluation.evaluator import Evaluator
from wakesleep.evaluation.records import Records, exact_records
from wakesleep.evaluation.tiles import Widths, bytes_of
from wakesleep.models import HelmholtzMachine, Masked, Visible


@dataclass(frozen=True)
class FullyVisible(Evaluator):
    """log p(x) of a tile of examples under a model that has no latents, exactly."""

    model: HelmholtzMachine
    widths: Widths

    @property
    def exact(self) -> bool:
        """Yes."""
        return True

    @property
    def examples(self) -> int:
        """How many examples each call takes."""
        return self.widths.tile_rows

    @property
    def bytes_per_tile(self) -> int:
        """Memory that one call takes."""
        return bytes_of(self.examples, self.widths.scored)

    def __call__(self, x: Any, tile: int, stop: Event) -> Records:
        """The only layer's log-probability; it is its own variational bound."""
        values = np.asarray(_log_prob(self.model, jax.tree.map(jnp.asarray, x)), np.float64)
        return exact_records(values, values)


@eqx.filter_jit
def _log_prob(model: HelmholtzMachine, x: Visible) -> Float[Array, " E"]:
    if isinstance(x, Masked):
        # Units are independent here, so that nothing is drawn for missing ones.
        return model.draw(jax.random.key(0), x, 1).log_p[:, 0]
    return model.log_joint(x, ())
