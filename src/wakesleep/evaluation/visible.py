"""Models of which so many samples give log p(x) itself: one without latents, all of an ensemble."""

from dataclasses import dataclass
from threading import Event
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from wakesleep import importance
from wakesleep.evaluation.evaluator import Evaluator
from wakesleep.evaluation.records import Records, exact_records
from wakesleep.evaluation.tiles import Widths, bytes_of
from wakesleep.models import BitModel, Visible


@dataclass(frozen=True)
class FullyVisible(Evaluator):
    """log p(x) of a tile of examples, exactly; `samples` is the model's own number for that."""

    model: BitModel
    widths: Widths
    samples: int

    @property
    def exact(self) -> bool:
        """Yes."""
        return True

    @property
    def examples(self) -> int:
        """How many examples each call takes."""
        return max(1, self.widths.tile_rows // self.samples)

    @property
    def bytes_per_tile(self) -> int:
        """Memory that one call takes."""
        return bytes_of(self.examples * self.samples, self.widths.scored)

    def __call__(self, x: Any, tile: int, stop: Event) -> Records:
        """The mean of the samples' weights; that of their logarithms is the variational bound."""
        on_device = jax.tree.map(jnp.asarray, x)
        values, bounds = _log_prob(self.model, on_device, self.samples)
        return exact_records(np.asarray(values, np.float64), np.asarray(bounds, np.float64))


@eqx.filter_jit
def _log_prob(
    model: BitModel, x: Visible, samples: int
) -> tuple[Float[Array, " E"], Float[Array, " E"]]:
    # The key plays no part: it could only change the samples' order.
    log_weights = importance.log_weights(model, x, samples, jax.random.key(0))
    return (
        importance.log_likelihood_estimate(log_weights),
        importance.variational_bound(log_weights),
    )
