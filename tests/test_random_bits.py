import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wakesleep.random_bits import random_bits, threefry2x32


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [  # the known answers of the Random123 distribution for Threefry-2x32, 20 rounds
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry_gives_the_published_answers(key, counter, expected):
    key, high, low = (jnp.asarray(v, jnp.uint32) for v in (key, *counter))
    assert tuple(int(word) for word in threefry2x32(key, high, low)) == expected


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (0, 4), (2, 3, 7)])
@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_shape_and_type(shape, impl):
    bits = random_bits(jax.random.key(0, impl=impl), shape)
    assert bits.shape == shape
    assert bits.dtype == jnp.uint32


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_streams_of_one_key_are_unrelated(impl):
    key = jax.random.key(0, impl=impl)
    one, other = (np.asarray(random_bits(key, (20_000,), stream)) for stream in (0, 1))
    differing = np.unpackbits((one ^ other).view(np.uint8)).mean()
    assert abs(differing - 0.5) < 5 * 0.5 / np.sqrt(32 * 20_000)


def test_every_bit_is_fair_and_words_differ(key):
    words = np.asarray(random_bits(key, (100_001,)))
    means = np.unpackbits(words.view(np.uint8).reshape(-1, 4), axis=1).mean(0)
    assert np.abs(means - 0.5).max() < 5 * 0.5 / np.sqrt(words.size)
    assert np.unique(words).size > 0.9999 * words.size
