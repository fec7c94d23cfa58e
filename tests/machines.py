"""Machines small enough to list, over every layer kind in p and in q and one to three layers."""

import jax

from tests.oracle import sharpen
from wakesleep.architecture import build
from wakesleep.layers import LAYERS

FEATURES = 4
KINDS = list(LAYERS)
DEPTHS = ("3", "2-3", "2-2-2")
# Every kind appears in p and in q, against itself and another, at depths one to three.
SMALL = [f"{kind}/{kind} {DEPTHS[i % 3]}" for i, kind in enumerate(KINDS)]
SMALL += [f"{kind}/{KINDS[i - 1]} {DEPTHS[(i + 2) % 3]}" for i, kind in enumerate(KINDS)]


def small_machine(text, scale=1.0, seed=7):
    key = jax.random.key(seed)
    return sharpen(build(text, features=FEATURES, key=key), key, scale=scale)
