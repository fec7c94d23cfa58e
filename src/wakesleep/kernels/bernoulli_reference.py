"""Independent bits in pure JAX: the definition the native kernels are held to."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Key, UInt32

from wakesleep.random_bits import random_bits, threefry_bits
from wakesleep.shares import Share

# A 32-bit word gives 31 bits of |noise| and one of sign. Below this many units of the last
# place the word alone is too coarse (a Bernoulli of 1e-9 spans four of them) and is refined.
_COARSE = 2**8


@jax.custom_jvp
def softplus(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """log(1 + e^z), accurate in relative terms at both ends."""
    return jnp.maximum(z, 0) + jnp.log1p(jnp.exp(-jnp.abs(z)))


@softplus.defjvp
def _softplus_jvp(primals, tangents):  # type: ignore[no-untyped-def]
    (z,), (dz,) = primals, tangents
    return softplus(z), lax.logistic(z) * dz


def log_prob(
    x: Float[Array, "*#batch D"], logits: Float[Array, "*#batch D"]
) -> Float[Array, "*batch"]:
    """log Π_i P(x_i) with P(x_i = 1) = σ(logits_i)."""
    return -softplus((1 - 2 * x) * logits).sum(-1)


def gradient(g: Array, x: Array, logits: Array) -> Array:
    """The gradient of the logits at full batch shape, given g, that of the log-probabilities."""
    sign = 2 * x - 1
    return g[..., None] * sign * lax.logistic(-sign * logits)


def logistic_noise(key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Logistic noise by a key of any kind."""
    return _noise_of_streams(lambda stream: random_bits(key, shape, stream))


def share_noise(key: UInt32[Array, "2"], shape: tuple[int, ...], share: Share) -> Array:
    """Logistic noise of a share of a minibatch, by the data of a Threefry key."""
    return _noise_of_streams(lambda stream: threefry_bits(key, shape, share, stream))


def _noise_of_streams(words: Callable[[int], UInt32[Array, "..."]]) -> Float[Array, "..."]:
    """The second stream's words are generated only when some element needs one.

    That is about once in 80 draws of 10^5 elements.
    """
    coarse = words(0)
    fine = lax.cond(
        _is_coarse(coarse).any(),
        lambda: words(1),
        lambda: jnp.full(coarse.shape, 2**31, jnp.uint32),
    )
    return logistic_from_bits(coarse, fine)


def logistic_from_bits(
    coarse: UInt32[Array, "..."], fine: UInt32[Array, "..."]
) -> Float[Array, "..."]:
    """The logistic quantile of (coarse, fine) read as one sign bit and a number in (0, ½).

    `fine` extends `coarse` to the right where that is small; its default of 2^31 is the
    middle of the interval that `coarse` leaves open.
    """
    extension = jnp.where(_is_coarse(coarse), _unit_interval(fine), 0.5)
    tail = ((coarse >> 1).astype(jnp.float32) + extension) * 2.0**-32
    quantile = jnp.log(tail / (1 - tail))
    return jnp.where((coarse & 1) == 1, quantile, -quantile)


def _is_coarse(word: UInt32[Array, "..."]) -> Bool[Array, "..."]:
    return (word >> 1) < _COARSE


def _unit_interval(word: UInt32[Array, "..."]) -> Float[Array, "..."]:
    return (word.astype(jnp.float32) + 0.5) * 2.0**-32
