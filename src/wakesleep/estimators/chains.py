"""The negative phase of an undirected top: −∂ log Z from chains of the RBM.

    ∂ log p(x, h) = ∂ log p*(x, h) − E_p[∂ log p*(h_L)],  where p = p* / Z

The mean is taken over chains that go on from step to step (persistent contrastive divergence,
Tieleman 2008), or that start afresh from the data's own h_L (contrastive divergence, Hinton 2002).

The RBM's gradient is the centred one: that of the parameters in which its units are counted from
their means m and its hidden units from theirs, n,

    log p*(v, u) = b'·(v − m) + (u − n)·(W (v − m) + c'),   b = b' − Wᵀ n,  c = c' − W m.

It is the plain gradient times a matrix that is symmetric and positive: the way up is another one,
the tops are the same. Far fewer steps get there, as a weight no longer does what a bias could
(Cho, Raiko & Ilin 2011; Montavon & Müller 2012; Melchior, Fischer & Wiskott 2016).
"""

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Key, PyTree

from wakesleep import shares
from wakesleep.errors import UsageError
from wakesleep.inference.normaliser import undirected_top
from wakesleep.layers import RBM
from wakesleep.models.base import Draw, LatentModel

CENTRE_RATE = 0.01
"""How far a step moves the means towards its minibatch's. They are those of the steps before, so
that no example centres itself: the mean of the gradient is then exactly the matrix times its mean.
"""


class Centre(NamedTuple):
    """Means of an RBM's units v and of its hidden units u, where v comes from the data."""

    v: Float[Array, "*_ D"]
    u: Float[Array, "*_ U"]


class TopState(NamedTuple):
    """What is remembered of an undirected top from step to step; notes for it have the same form.

    Attributes:
        chains: those that last, `[M, D]`; `()` in contrastive divergence.
        centre: what its units are counted from.
    """

    chains: PyTree
    centre: Centre


def first_state(model: LatentModel, chains: int, key: Key[Array, ""]) -> PyTree:
    """Random bits for each chain, and the means of independent units; `()` for other models."""
    rbm = undirected_top(model)
    if rbm is None:
        return ()
    bits = jax.random.bernoulli(key, 0.5, (chains, rbm.size)).astype(jnp.float32)
    v = jax.nn.sigmoid(rbm.b)
    return TopState(bits if chains else (), Centre(v, rbm.hidden_mean(v)))


def own_chains(chains: Float[Array, "M D"]) -> Float[Array, "_ D"]:
    """Those of the chains that go with this share of the minibatch."""
    among = shares.here().among
    if len(chains) % among:
        raise UsageError(
            f"{len(chains)} chains cannot be cut into {among} equal shares, as a minibatch is: "
            f"chains = {among * -(-len(chains) // among)} can"
        )
    return shares.portion(chains)


def centre_of(rbm: RBM, v: Float[Array, "B D"]) -> Centre:
    """The means over some rows of v, `[1, D]` and `[1, U]`: a note that stands for all of them."""
    return Centre(v.mean(0, keepdims=True), rbm.hidden_mean(v).mean(0, keepdims=True))


def moved(centre: Centre, notes: Centre) -> Centre:
    """The means after a step, from those of its shares."""
    return jax.tree.map(lambda old, new: old + CENTRE_RATE * (new.mean(0) - old), centre, notes)


def with_centred_top(gradients: Any, centre: Centre) -> Any:
    """A machine's gradients with that of its RBM centred."""
    return eqx.tree_at(lambda tree: tree.p[-1], gradients, centred(gradients.p[-1], centre))


def centred(gradient: RBM, centre: Centre) -> RBM:
    """The step of W, b and c that the gradient of W, b' and c' is."""
    W = gradient.W - centre.u[:, None] * gradient.b - gradient.c[:, None] * centre.v
    return RBM(W, gradient.b - centre.u @ W, gradient.c - W @ centre.v, gradient.emission)


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
    """Dreams below the chains, each used several times in a row where they are fewer."""
    return model.dream_below(key, chains[jnp.arange(count) * len(chains) // count])
