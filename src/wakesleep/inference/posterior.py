"""log p̂(x) and posterior means of rows, each row's numbers its own.

scikit-learn asks that a row's answer depends neither on the rows around it nor on its place
among them. So a row's randomness comes from its bits, and rows are computed one at a time,
because a matrix product rounds differently in matrices of another height.
"""

import zlib
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import lax
from jaxtyping import Array, Float, Int, Key, UInt8, UInt32

from wakesleep import importance
from wakesleep.data import PackedBits
from wakesleep.inference.rows import unpack
from wakesleep.models import HelmholtzMachine

ROWS_PER_CALL = 512
"""The one height that is compiled; a call computes only as many of its rows as are real."""


class Inferred(NamedTuple):
    """What importance weighting says of each row.

    Attributes:
        log_likelihood: log p̂(x), `[N]`.
        means: E[h | x] of all latents, from the layer next to the data upwards, `[N, H]`.
    """

    log_likelihood: npt.NDArray[np.float64]
    means: npt.NDArray[np.float64]


def infer_rows(
    model: HelmholtzMachine, bits: PackedBits, samples: int, key: Key[Array, ""]
) -> Inferred:
    """Weigh K samples of q for every row."""
    found = [
        _infer_block(model, bits.rows[start : start + ROWS_PER_CALL], samples, key)
        for start in range(0, len(bits), ROWS_PER_CALL)
    ]
    return Inferred(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _infer_block(
    model: HelmholtzMachine, rows: npt.NDArray[np.uint8], samples: int, key: Key[Array, ""]
) -> Inferred:
    padded = np.zeros((ROWS_PER_CALL, rows.shape[1]), np.uint8)
    padded[: len(rows)] = rows
    own = np.array([zlib.crc32(row.tobytes()) for row in padded], np.uint32)
    values, means = _infer_each(
        model, jnp.asarray(padded), jnp.asarray(own), jnp.asarray(len(rows)), samples, key
    )
    count = len(rows)
    return Inferred(np.asarray(values, np.float64)[:count], np.asarray(means, np.float64)[:count])


@eqx.filter_jit
def _infer_each(
    model: HelmholtzMachine,
    rows: UInt8[Array, "R bytes"],
    own: UInt32[Array, " R"],
    count: Int[Array, ""],
    samples: int,
    key: Key[Array, ""],
) -> tuple[Float[Array, " R"], Float[Array, "R H"]]:
    def infer(i: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
        values, means = found
        x = unpack(rows[i], model.features)
        value, mean = _infer_one(model, x, samples, jax.random.fold_in(key, own[i]))
        return values.at[i].set(value), means.at[i].set(mean)

    nothing = jnp.zeros(len(rows)), jnp.zeros((len(rows), sum(model.latent_sizes)))
    return lax.fori_loop(0, count, infer, nothing)


def _infer_one(
    model: HelmholtzMachine, x: Float[Array, " D"], samples: int, key: Key[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, " H"]]:
    drawn = model.draw(key, x[None], samples)
    weights = importance.normalise(drawn.log_weights)[0]
    means = [weights @ layer[0] for layer in drawn.h]
    return importance.log_likelihood_estimate(drawn.log_weights)[0], jnp.concatenate(means)
