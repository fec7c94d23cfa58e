"""Missing bits of rows under a plain RBM, by block Gibbs sampling at what was observed.

Given the hidden units the bits are independent, so that the missing ones are drawn from their
exact conditionals with the observed ones held: no proposal, no weight, nothing to reject.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Key

from wakesleep.inference.blocks import Block, Blocks, Progress
from wakesleep.inference.stages import Effort, Fields, PartialRows, block_rows
from wakesleep.layers import RBM

SWEEPS_PER_MOVE = 5
"""Of a plain RBM for each move that would be made elsewhere: a sweep is cheap."""


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


def gibbs_rows(
    rows: PartialRows, effort: Effort, key: Key[Array, ""], progress: Progress | None
) -> Fields:
    """All rows' fields of an `Imputation` under a plain RBM: no weights, so no log p̂."""
    rbm = rows.model.undirected
    assert rbm is not None
    sweeps = SWEEPS_PER_MOVE * max(effort.moves, 1)

    def of(block: Block) -> Any:
        x, missing = rows.bits[block.filled], rows.missing[block.filled]
        block_key = jax.random.fold_in(key, block.number)
        x_device, missing_device = jnp.asarray(x, jnp.float32), jnp.asarray(missing)
        imputed = gibbs_impute(rbm, block_key, x_device, missing_device, effort.samples, sweeps)
        unknown = np.full(len(x), np.nan, np.float32)
        return {
            "draws": np.asarray(imputed.x[:, : effort.draws]).astype(np.uint8),
            "probabilities": np.where(missing, imputed.probabilities, x),
            "log_likelihood": unknown,
            "effective_samples": unknown,
            "moved": np.ones(len(x), np.bool_),
            "accepted": np.ones(len(x), np.float32),
        }

    count = len(rows.bits)
    return Blocks(count, block_rows(rows.model, effort.samples, count)).map(of, progress)
