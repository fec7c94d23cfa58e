"""Antithetic pairs for layers of independent bits (Dong, Mnih & Tucker 2020)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key, PyTree

from wakesleep.errors import UsageError
from wakesleep.estimators.base import Batch, Estimator, Info, Part, refuse_missing, summarise
from wakesleep.models.base import Draw, LatentModel
from wakesleep.models.helmholtz import HelmholtzMachine
from wakesleep.numerics import logistic_noise
from wakesleep.options import Even


@dataclass(frozen=True, kw_only=True)
class DisARM(Estimator):
    """Climbs the bound E_q[log p − log q] by unbiased gradients, without any baseline.

    A layer h_l with logits α is drawn twice from the same noise, h and h̃, so that their units
    differ as often as they can; the layers above each are drawn on their own. With f the terms of
    log p − log q that h_l has a part in, the gradient for α_i is

        ½ (f(h) − f(h̃)) (h_i − h̃_i) σ(|α_i|)

    Each layer has pairs of its own, above one sample of the layers below it. p learns from the
    samples of the first layer's pairs, (1/K) Σ_k ∂/∂θ log p(x, h_k).

    For Helmholtz machines whose q has independent units in every layer (SBN).

    Dong, Mnih & Tucker, "DisARM: an antithetic gradient estimator for binary latent variables"
    (NeurIPS 2020).

    Attributes:
        samples: K, latents drawn per example: K / 2 pairs for each layer.
    """

    samples: Annotated[int, Even(least=2)] = 4

    def init(self, model: LatentModel, rows: int, key: Key[Array, ""]) -> PyTree:
        """Nothing, for a model it can serve."""
        del rows, key
        _check_model(model)
        return ()

    def scored(self, depth: int) -> int:
        """K for every layer's pairs."""
        return self.samples * max(1, depth)

    def part(self, model: LatentModel, state: PyTree, batch: Batch, key: Key[Array, ""]) -> Part:
        """Gradients of minus the bound, averaged over the rows."""
        machine = _check_model(model)
        refuse_missing(batch.x, "disarm")

        def loss(model: HelmholtzMachine) -> tuple[Float[Array, ""], Info]:
            keys = jax.random.split(key, max(1, len(model.q)))
            first = _pairs(model, keys[0], 0, batch.x[:, None], self.samples // 2)
            objective = first.drawn.log_p.mean() + first.learning
            for low in range(1, len(model.q)):
                below = first.drawn.h[low - 1][:, ::2]
                objective += _pairs(model, keys[low], low, below, self.samples // 2).learning
            return -objective, summarise(first.drawn)

        gradients, info = eqx.filter_grad(loss, has_aux=True)(machine)
        return Part(gradients, (), info)


class _Pairs(NamedTuple):
    """Samples of a layer and all above it, each pair side by side, and what α learns from them."""

    drawn: Draw
    learning: Float[Array, ""]


def _pairs(
    model: HelmholtzMachine,
    key: Key[Array, ""],
    low: int,
    below: Float[Array, "B _ C"],
    pairs: int,
) -> _Pairs:
    """P pairs of q's layer `low` for each example, above given values of what lies below it."""
    shape = (below.shape[0], pairs, 2)
    below = below[:, :, None]
    if not model.q:
        term = model.p[0].log_prob(below, jnp.zeros(0))
        return _Pairs(_side_by_side((), [term], [], shape), jnp.zeros(()))
    layer, (noise_key, key) = model.q[low], jax.random.split(key)
    seen = model.q_input(below) if low == 0 else below
    logits = layer.conditional_logits(jnp.zeros((1, 1, 1, layer.size)), seen)
    noise = logistic_noise(noise_key, (*shape[:2], 1, layer.size))
    signed = jnp.concatenate([noise, -noise], axis=2)
    h = lax.stop_gradient((logits > signed).astype(logits.dtype))
    drawn = _with_all_above(model, key, low, below, h)
    signal = lax.stop_gradient(drawn.log_weights).reshape(shape)
    half = 0.5 * (signal[..., :1] - signal[..., 1:]) * (h[:, :, 0] - h[:, :, 1])
    alpha = logits[:, :, 0]
    learning = lax.stop_gradient(half * jax.nn.sigmoid(jnp.abs(alpha))) * alpha
    return _Pairs(drawn, learning.sum(-1).mean())


def _with_all_above(
    model: HelmholtzMachine, key: Key[Array, ""], low: int, below: Array, h: Array
) -> Draw:
    """The layers above h drawn from q, and the terms that h and they have a part in."""
    seen = model.q_input(below) if low == 0 else below
    values, terms = [h], [model.q[low].log_prob(h, seen)]
    rest = model.q[low + 1 :]
    for layer, layer_key in zip(rest, jax.random.split(key, max(1, len(rest))), strict=False):
        value, term = layer.sample_with_log_prob(layer_key, values[-1], h.shape[:-1])
        values.append(value)
        terms.append(term)
    parents = (*values, jnp.zeros(0))
    log_p = [
        layer.log_prob(value, parent)
        for layer, value, parent in zip(model.p[low:], (below, *values), parents, strict=True)
    ]
    return _side_by_side(values, log_p, terms, h.shape[:-1])


def _side_by_side(
    h: Sequence[Array], log_p: list[Array], log_q: list[Array], shape: tuple[int, ...]
) -> Draw:
    """Pairs `[B, P, 2, ...]` as samples `[B, 2P, ...]`."""

    def samples(term: Array) -> Array:
        return jnp.broadcast_to(term, shape).reshape(shape[0], -1)

    values = tuple(value.reshape(shape[0], -1, value.shape[-1]) for value in h)
    return Draw(values, tuple(map(samples, log_p)), tuple(map(samples, log_q)))


def _check_model(model: LatentModel) -> HelmholtzMachine:
    if not isinstance(model, HelmholtzMachine) or not all(q.factorial for q in model.q):
        raise UsageError(
            "estimator 'disarm' needs a Helmholtz machine whose q has SBN layers, as in 'nade/sbn'"
        )
    return model
