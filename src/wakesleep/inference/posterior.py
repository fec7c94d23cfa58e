"""log p̂(x) and posterior means of rows, each row's numbers its own."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, Key

from wakesleep import importance
from wakesleep.data import MaskedBits, PackedBits
from wakesleep.inference.each_row import map_rows
from wakesleep.models import HelmholtzMachine


class Inferred(NamedTuple):
    """What importance weighting says of each row.

    Attributes:
        log_likelihood: log p̂(x), `[N]`.
        means: E[h | x] of all latents, from the layer next to the data upwards, `[N, H]`;
            `[N, 0]` without latents.
    """

    log_likelihood: npt.NDArray[np.float64]
    means: npt.NDArray[np.float64]


def infer_rows(
    model: HelmholtzMachine, bits: PackedBits | MaskedBits, samples: int, key: Key[Array, ""]
) -> Inferred:
    """Weigh K samples of q for every row; without latents log p(x) is exact.

    Where cells are missing, it is log p of those that were observed.
    """
    values, means = map_rows(_Infer(needed_samples(model, bits, samples)), model, bits, key)
    return Inferred(values.astype(np.float64), means.astype(np.float64))


def needed_samples(model: HelmholtzMachine, bits: Any, samples: int) -> int:
    """One where nothing is drawn: no latents, and no missing cell that another hangs on."""
    exact = not model.latent_sizes and (model.p[0].factorial or not isinstance(bits, MaskedBits))
    return 1 if exact else samples


@dataclass(frozen=True)
class _Infer:
    """Of one example, `[1, ...]`."""

    samples: int

    def __call__(
        self, model: HelmholtzMachine, x: Any, key: Key[Array, ""]
    ) -> tuple[Float[Array, ""], Float[Array, " H"]]:
        drawn = model.draw(key, x, self.samples)
        weights = importance.normalise(drawn.log_weights)[0]
        means = [jnp.zeros(0), *(weights @ layer[0] for layer in drawn.h)]
        return importance.log_likelihood_estimate(drawn.log_weights)[0], jnp.concatenate(means)
