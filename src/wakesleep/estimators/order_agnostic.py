"""Masked prediction: an EoNADE learns all orderings at once (Uria, Murray & Larochelle 2014)."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from wakesleep import shares
from wakesleep.errors import UsageError
from wakesleep.estimators.base import Batch, Estimator, Info, Part
from wakesleep.layers.emission import CERTAIN
from wakesleep.models.base import LatentModel
from wakesleep.models.bit_model import Visible
from wakesleep.models.eonade import EoNADE
from wakesleep.models.masked import Masked
from wakesleep.options import Whole


@dataclass(frozen=True, kw_only=True)
class OrderAgnostic(Estimator):
    """Climbs E_o[log p(x | o)] over all orderings o, by unbiased gradients of one pass each.

    An ordering and a place in it are drawn: d of the G groups are shown, all others are predicted.
    The terms of these are the d-th factors of all orderings that begin so, so that

        G / (G − d) Σ_(g not shown) log p(x_g | x_shown)

    is log p(x | o) on average. Where cells are missing, G counts the observed ones, and no other is
    shown or predicted. For EoNADEs.

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
    key_order, key_place = jax.random.split(key)
    shape = (bits.shape[0], samples)
    here = jnp.broadcast_to(observed[:, None] > 0, (*shape, model.groups_count))
    # The missing groups come last, and the place is among the observed ones.
    chance = shares.drawn(partial(jax.random.uniform, key_order), here.shape) + ~here
    rank = jnp.argsort(jnp.argsort(chance, axis=-1), axis=-1)
    count = here.sum(-1)
    place = jnp.minimum(jnp.floor(_spread_places(key_place, shape) * count), count - 1)
    shown = rank < place[..., None]
    asked = Masked(bits, (here & ~shown).astype(bits.dtype)).units(model.groups) > 0
    each = bits[:, None]
    logits = model.predict(each, shown.astype(bits.dtype))
    terms = model.visible_emission.log_prob(
        each, jnp.where(asked, logits, CERTAIN * (2 * each - 1))
    )
    return jnp.where(count > 0, count / jnp.maximum(count - place, 1) * terms, 0.0)


def _spread_places(key: Key[Array, ""], shape: tuple[int, int]) -> Float[Array, "B K"]:
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
