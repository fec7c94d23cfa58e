"""Missing bits of rows under a plain RBM, by block Gibbs sampling at what was observed.

Given the hidden units the bits are independent, so that the missing ones are drawn from their
exact conditionals with the observed ones held: no proposal, no weight, nothing to reject.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Key

from wakesleep.layers import RBM


class GibbsImputed(NamedTuple):
    """K chains of each row after the last sweep, and P(x_i = 1 | x_observed).

    The probabilities are averages of P(x_i = 1 | u) over the chains and the second half of the
    sweeps.
    """

    x: Float[Array, "B K D"]
    probabilities: Float[Array, "B D"]


@eqx.filter_jit
def gibbs_impute(
    rbm: RBM,
    key: Key[Array, ""],
    x: Float[Array, "B D"],
    missing: Bool[Array, "B D"],
    chains: int,
    sweeps: int,
) -> GibbsImputed:
    """Sweeps over the hidden units and the missing bits, from random bits."""
    key_start, key_sweeps = jax.random.split(key)
    hidden = missing[:, None]
    shape = (x.shape[0], chains, x.shape[1])
    start = jnp.where(hidden, jax.random.bernoulli(key_start, 0.5, shape), x[:, None])

    def sweep(x: Array, sweep_key: Key[Array, ""]) -> tuple[Array, Array]:
        key_u, key_x = jax.random.split(sweep_key)
        logits = rbm.visible_logits(rbm.sample_hidden(key_u, x))
        drawn, _ = rbm.emission.sample(key_x, logits, x.shape[:-1])
        return jnp.where(hidden, drawn, x), jax.nn.sigmoid(logits).mean(1)

    last, means = lax.scan(sweep, start, jax.random.split(key_sweeps, sweeps))
    return GibbsImputed(last, means[sweeps // 2 :].mean(0))
