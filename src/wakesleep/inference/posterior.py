"""log p̂(x) and posterior means of rows, each row's numbers its own."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, Key

from wakesleep import importance
from wakesleep.data import MaskedBits, PackedBits
from wakesleep.inference.each_row import OfOne, map_rows
from wakesleep.inference.normaliser import log_normaliser, undirected_top
from wakesleep.inference.responsibilities import responsibilities
from wakesleep.models import BitModel, Mixture


class Inferred(NamedTuple):
    """What importance weighting says of each row.

    Attributes:
        log_likelihood: log p̂(x), `[N]`.
        means: E[h | x] of all latents, from the layer next to the data upwards, `[N, H]`, and
            after them those of an RBM's hidden units; `[N, 0]` where there are neither.
    """

    log_likelihood: npt.NDArray[np.float64]
    means: npt.NDArray[np.float64]


def infer_rows(
    model: BitModel, bits: PackedBits | MaskedBits, samples: int, key: Key[Array, ""]
) -> Inferred:
    """Weigh K samples of q for every row; without latents log p(x) is exact.

    Where cells are missing, it is log p of those that were observed. Of a mixture `means` are
    its components' responsibilities p(c | x), then the posterior means of each one's latents.
    """
    if isinstance(model, Mixture):
        return _infer_mixture(model, bits, samples, key)

    def infer(rows: PackedBits | MaskedBits) -> OfOne:
        return _Infer(needed_samples(model, rows, samples))

    values, means = map_rows(infer, model, bits, key)
    log_z = log_normaliser(model, key=key).value if undirected_top(model) else 0.0
    return Inferred(values.astype(np.float64) - log_z, means.astype(np.float64))


def needed_samples(model: BitModel, bits: Any, samples: int) -> int:
    """The model's own number where that is exact, as without latents; else those asked for."""
    return model.exact_samples(masked=isinstance(bits, MaskedBits)) or samples


@dataclass(frozen=True)
class _Infer:
    """Of one example, `[1, ...]`."""

    samples: int

    def __call__(
        self, model: BitModel, x: Any, key: Key[Array, ""]
    ) -> tuple[Float[Array, ""], Float[Array, " H"]]:
        drawn = model.draw(key, x, self.samples)
        weights = importance.normalise(drawn.log_weights)[0]
        means = [jnp.zeros(0), *(weights @ layer[0] for layer in drawn.h)]
        rbm = undirected_top(model)
        if rbm is not None:
            top = drawn.h[-1][0] if drawn.h else jnp.broadcast_to(x, (self.samples, model.features))
            means.append(weights @ rbm.hidden_mean(top))
        return importance.log_likelihood_estimate(drawn.log_weights)[0], jnp.concatenate(means)


def _infer_mixture(
    model: Mixture, bits: PackedBits | MaskedBits, samples: int, key: Key[Array, ""]
) -> Inferred:
    each = [
        infer_rows(component, bits, samples, jax.random.fold_in(key, number))
        for number, component in enumerate(model.components)
    ]
    values = [one.log_likelihood for one in each]
    total, shares = responsibilities(model, np.stack(values, axis=1))
    return Inferred(total, np.concatenate([shares, *(one.means for one in each)], axis=1))


def embedding_names(model: BitModel) -> list[str]:
    """What the columns of `means` are: `h1_3` is the third unit of the layer next to the data.

    Of a mixture, `component_2` is the responsibility of its second component, and `c2_h1_3` that
    component's unit.
    """
    if isinstance(model, Mixture):
        numbered = list(enumerate(model.components, 1))
        units = [f"c{c}_{name}" for c, each in numbered for name in embedding_names(each)]
        return [*(f"component_{c}" for c, _ in numbered), *units]
    layers = enumerate(model.hidden_sizes, 1)
    return [f"h{layer}_{unit}" for layer, size in layers for unit in range(1, size + 1)]
