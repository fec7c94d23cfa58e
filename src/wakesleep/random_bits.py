"""Random words from JAX keys at memory speed.

`jax.random.bits` on a CPU runs Threefry's rounds as a loop over arrays and throws half of
its output away; for the small layers of a Helmholtz machine that costs as much as the
matrix products. Here the same Threefry-2x32 (20 rounds) is unrolled, so that XLA fuses it
into one pass, and both output words are used.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Key, UInt32

from wakesleep import shares
from wakesleep.shares import Share

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def random_bits(
    key: Key[Array, ""], shape: tuple[int, ...], stream: int = 0
) -> UInt32[Array, "..."]:
    """Independent uniform 32-bit words; a key and stream must be used once.

    Streams of one key are independent: they are the high word of Threefry's counter, which
    spares the split of a key. Inside a share of a minibatch they are those of its rows.
    """
    if jax.random.key_impl(key) != "threefry2x32":
        folded = jax.random.fold_in(key, stream)
        return shares.drawn(lambda whole: jax.random.bits(folded, whole), shape)
    return threefry_bits(jax.random.key_data(key), shape, shares.here(), stream)


def threefry_bits(
    key: UInt32[Array, "2"], shape: tuple[int, ...], share: Share, stream: int
) -> UInt32[Array, "..."]:
    """The words of a share among those of all shares, which have equally many."""
    count = math.prod(shape)
    if share.among > 1:
        start = jnp.asarray(share.number).astype(jnp.uint32) * jnp.uint32(count)
        places = start + lax.iota(jnp.uint32, count)
        return _words_at(key, places, count * share.among, stream).reshape(shape)
    half = (count + 1) // 2
    high, low = jnp.asarray(stream, jnp.uint32), lax.iota(jnp.uint32, half)
    words = threefry2x32(key, high, low)
    return jnp.concatenate(words)[:count].reshape(shape)


def _words_at(
    key: UInt32[Array, "2"], places: UInt32[Array, " N"], count: int, stream: int
) -> UInt32[Array, " N"]:
    """Some of `count` words; a word costs twice what it costs where all are wanted."""
    half = jnp.uint32((count + 1) // 2)
    lower = places >= half
    high = jnp.asarray(stream, jnp.uint32)
    words = threefry2x32(key, high, jnp.where(lower, places - half, places))
    return jnp.where(lower, words[1], words[0])


def threefry2x32(
    key: UInt32[Array, "2"], high: UInt32[Array, "..."], low: UInt32[Array, "..."]
) -> tuple[UInt32[Array, "..."], UInt32[Array, "..."]]:
    """Threefry-2x32-20 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011)."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(_PARITY))
    high, low = jnp.broadcast_arrays(high + schedule[0], low + schedule[1])
    for block in range(5):
        for rotation in _ROTATIONS[block % 2]:
            high = high + low
            low = ((low << rotation) | (low >> (32 - rotation))) ^ high
        high = high + schedule[(block + 1) % 3]
        low = low + schedule[(block + 2) % 3] + jnp.uint32(block + 1)
    return high, low
