"""Bars: generated images whose entropy is a formula, to know how far a model is from the truth."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.data.bits import PackedBits
from wakesleep.data.checks import frozen_stream
from wakesleep.data.dataset import Dataset, DatasetEntry
from wakesleep.errors import UsageError

SIZE = 4
COUNTS = (10_000, 2_000, 2_000)


def load_bars(
    size: int = SIZE,
    train: int = COUNTS[0],
    valid: int = COUNTS[1],
    test: int = COUNTS[2],
    seed: int = 0,
) -> Dataset:
    """Draw images of horizontal or vertical bars on a `size` x `size` grid.

    The orientation is a fair coin; each of the `size` bars of that orientation is on with
    probability 1/2. Each split has randomness of its own: its first rows do not depend on the
    other splits' sizes.
    """
    if size < 1:
        raise UsageError(f"bars size={size} must be 1 or more")
    counts = {"train": train, "valid": valid, "test": test}
    for name, count in counts.items():
        if count < 0:
            raise UsageError(f"bars {name}={count} must be 0 rows or more")
    tables = {
        name: _draw(frozen_stream(seed, stream), size, count)
        for stream, (name, count) in enumerate(counts.items())
    }
    return Dataset(
        "bars",
        train=tables["train"],
        valid=tables["valid"],
        test=tables["test"],
        binarisation="already binary (generated)",
        image_shape=(size, size),
        entropy=bars_entropy(size),
    )


def bars_entropy(size: int) -> float:
    """The exact entropy of the images in nats, (n + 1 − 2^(1−n)) ln 2 for n = `size`.

    Orientation and bars take n + 1 fair coins. An image with some bars on and some off
    tells them all: 2 (2^n − 2) images of probability 2^−(n+1). All-off and all-on arise from
    both orientations: 2 images of probability 2^−n, which lack one bit each. So
    H = (n + 1) ln 2 − P(all-off or all-on) ln 2, and that probability is 2 · 2^−n.
    """
    return (size + 1 - 2.0 ** (1 - size)) * math.log(2)


def bars_log_prob(x: npt.NDArray[Any], size: int) -> npt.NDArray[np.float64]:
    """The exact log-probability of images `[..., size * size]`; −inf where they cannot arise."""
    grid = x.reshape(*x.shape[:-1], size, size)
    horizontal = (grid == grid[..., :, :1]).all(axis=(-1, -2))
    vertical = (grid == grid[..., :1, :]).all(axis=(-1, -2))
    ways = horizontal.astype(np.float64) + vertical
    with np.errstate(divide="ignore"):
        return np.log(ways) - (size + 1) * math.log(2)


def _draw(random: np.random.RandomState, size: int, count: int) -> PackedBits:
    # An image's coins are drawn together, so that a longer table starts with the shorter one.
    coins = random.randint(0, 2, (count, size + 1), dtype=np.uint8)
    orientation, bars = coins[:, :1, None], coins[:, 1:]
    images = np.where(orientation == 1, bars[:, :, None], bars[:, None, :])
    return PackedBits.pack(images.reshape(count, size * size))


BARS = DatasetEntry(
    name="bars",
    description="generated bars on a 4 x 4 grid, entropy known; options: size, train, valid, test",
    sizes=COUNTS,
    features=SIZE * SIZE,
    load=load_bars,
)
