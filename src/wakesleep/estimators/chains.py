"""The negative phase of an undirected top: −∂ log Z from chains of the RBM.

    ∂ log p(x, h) = ∂ log p*(x, h) − E_p[∂ log p*(h_L)],  where p = p* / Z

The mean is taken over chains that go on from step to step (persistent contrastive divergence,
Tieleman 2008), or that start afresh from the data's own h_L (contrastive divergence, Hinton 2002).
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key, PyTree

from wakesleep import shares
from wakesleep.inference.normaliser import undirected_top
from wakesleep.models.base import Draw, LatentModel


def first_chains(model: LatentModel, chains: int, key: Key[Array, ""]) -> PyTree:
    """Random bits for each chain; `()` for a model that needs none, or with none that last."""
    rbm = undirected_top(model)
    if rbm is None or not chains:
        return ()
    return jax.random.bernoulli(key, 0.5, (chains, rbm.size)).astype(jnp.float32)


def data_starts(key: Key[Array, ""], drawn: Draw, x: Any) -> Float[Array, "B _"]:
    """h_L of each example, one of its K in proportion to their weights; x of a plain RBM."""
    if not drawn.h:
        return x
    noise = shares.drawn(functools.partial(jax.random.gumbel, key), drawn.log_weights.shape)
    chosen = (drawn.log_weights + noise).argmax(-1)
    return jnp.take_along_axis(drawn.h[-1], chosen[:, None, None], axis=1)[:, 0]


def has_chains(chains: PyTree) -> bool:
    """Whether there are any: a model that is normalised has `()`."""
    return len(jax.tree.leaves(chains)) > 0


def negative_phase(model: Any, chains: Float[Array, "M _"]) -> Float[Array, ""]:
    """The mean of log p*(h_L) over the chains, constants all: its gradient is that of log Z."""
    return model.p[-1].log_prob(lax.stop_gradient(chains), jnp.zeros(0)).mean()


def chain_dreams(
    model: Any, key: Key[Array, ""], chains: Float[Array, "M _"], count: int
) -> tuple[Any, Any]:
    """Dreams below the chains, each used again and again where they are fewer."""
    return model.dream_below(key, chains[shares.places(count) % len(chains)])
