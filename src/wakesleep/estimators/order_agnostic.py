"""Masked prediction: an EoNADE learns all orderings at once (Uria, Murray & Larochelle 2014)."""

from dataclasses import dataclass
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree, UInt32

from wakesleep import shares
from wakesleep.errors import UsageError
from wakesleep.estimators.base import Batch, Estimator, Info, Part
from wakesleep.layers.emission import CERTAIN
from wakesleep.models.base import LatentModel
from wakesleep.models.bit_model import Visible
from wakesleep.models.eonade import EoNADE
from wakesleep.models.masked import Masked
from wakesleep.options import Whole
from wakesleep.random_bits import random_bits


@dataclass(frozen=True, kw_only=True)
class OrderAgnostic(Estimator):
    """Climbs E_o[log p(x | o)] over all orderings o, by unbiased gradients of one pass each.

    A share u is drawn, uniform in [0, 1), and each of the G groups is shown with probability u. So
    the number d of those shown is uniform among 0, ..., G, and they are the first d groups of a
    random ordering. All others are predicted: their terms are the factors at place d + 1 of all
    orderings that begin so, and

        (G + 1) / (G − d) Σ_(g not shown) log p(x_g | x_shown)

    is log p(x | o) on average (0 where all are shown). Where cells are missing, G counts the
    observed ones, and no other is shown or predicted. For EoNADEs.

    Uria, Murray & Larochelle, "A deep and tractable density estimator" (ICML 2014).

    Attributes:
        samples: K, the number of masks drawn per example.
    """

    samples: Annotated[int, Whole(least=1)] = 1

    def init(self, model: LatentModel, rows: int, key: Key[Array, ""]) -> PyTree:
        """Nothing, for a model that can predict."""
        del rows, key
        _check_model(model)
        return ()

    def scored(self, depth: int) -> int:
        """K."""
        del depth
        return self.samples

    def part(self, model: LatentModel, state: PyTree, batch: Batch, key: Key[Array, ""]) -> Part:
        """Gradients of minus the estimate, averaged over the rows."""

        def loss(model: EoNADE) -> tuple[Float[Array, ""], Float[Array, ""]]:
            value = masked_log_prob(model, key, batch.x, self.samples).mean()
            return -value, value

        gradients, value = eqx.filter_grad(loss, has_aux=True)(_check_model(model))
        # Nothing is weighted, and the estimate is of the bound: E_o[log p] is below log p.
        samples = jnp.asarray(float(self.samples))
        return Part(gradients, (), Info(value, value, samples, 1 / samples, ()))


def masked_log_prob(
    model: EoNADE, key: Key[Array, ""], x: Visible, samples: int
) -> Float[Array, "B K"]:
    """An unbiased estimate of the mean of log p(x | o) over all orderings, from each of K masks."""
    bits, observed = x if isinstance(x, Masked) else (x, None)
    if observed is None:
        observed = jnp.ones((*bits.shape[:-1], model.groups_count))
    key_shown, key_share = jax.random.split(key)
    shape = (bits.shape[0], samples)
    here = jnp.broadcast_to(observed[:, None] > 0, (*shape, model.groups_count))
    below = random_bits(key_shown, here.shape) < _threshold(_spread_shares(key_share, shape))
    count, shown = here.sum(-1), here & below
    left = count - shown.sum(-1)
    asked = Masked(bits, (here & ~shown).astype(bits.dtype)).units(model.groups) > 0
    each = bits[:, None]
    logits = model.predict(each, shown.astype(bits.dtype))
    terms = model.visible_emission.log_prob(
        each, jnp.where(asked, logits, CERTAIN * (2 * each - 1))
    )
    return jnp.where(left > 0, (count + 1) / jnp.maximum(left, 1) * terms, 0.0)


def _threshold(share: Float[Array, "B K"]) -> UInt32[Array, "B K 1"]:
    """Below which that share of random words lies."""
    return (share * 2.0**32).astype(jnp.uint32)[..., None]


def _spread_shares(key: Key[Array, ""], shape: tuple[int, int]) -> Float[Array, "B K"]:
    """Numbers in [0, 1), each uniform, and all of a minibatch evenly spaced.

    How much is shown makes most of an estimate's noise: no minibatch has many rows with nearly
    everything shown by chance. Those of one example are as far from each other as they can be.
    """
    rows, samples = shape
    first = shares.places(rows)[:, None] / (rows * shares.here().among)
    return (jax.random.uniform(key) + (jnp.arange(samples) + first) / samples) % 1.0


def _check_model(model: LatentModel) -> EoNADE:
    if not isinstance(model, EoNADE):
        raise UsageError(
            "estimator 'order_agnostic' is for an eonade, as in --model 'eonade(hidden=500)': take "
            "another estimator, such as reweighted"
        )
    return model
