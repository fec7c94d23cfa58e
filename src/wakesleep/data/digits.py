"""Scikit-learn's 8 x 8 handwritten digits: small, real and always at hand."""

import gzip
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.data.bits import PackedBits
from wakesleep.data.checks import frozen_stream
from wakesleep.data.dataset import Dataset, DatasetEntry

SIZES = (1197, 300, 300)
THRESHOLD = 8


def load_digits() -> Dataset:
    """The digits' 64 grey values 0..16 as bits, in splits that never change."""
    bits = PackedBits.pack(_grey() >= THRESHOLD)
    order = frozen_stream(0).permutation(len(bits))
    train, valid, _ = SIZES
    return Dataset(
        "digits",
        train=bits.take(order[:train]),
        valid=bits.take(order[train : train + valid]),
        test=bits.take(order[train + valid :]),
        binarisation="threshold at 8 of 16",
        image_shape=(8, 8),
    )


def _grey() -> npt.NDArray[Any]:
    """Read from scikit-learn's own file: importing all of it takes a second."""
    found = find_spec("sklearn")
    for place in (found and found.submodule_search_locations) or ():
        file = Path(place) / "datasets" / "data" / "digits.csv.gz"
        if file.exists():
            with gzip.open(file, "rt", encoding="ascii") as lines:
                return np.loadtxt(lines, delimiter=",")[:, :-1]
    from sklearn import datasets

    grey: npt.NDArray[Any] = datasets.load_digits(return_X_y=True)[0]
    return grey


DIGITS = DatasetEntry(
    name="digits",
    description="8 x 8 handwritten digits from scikit-learn, 1 where the grey value is 8 or more",
    sizes=SIZES,
    features=64,
    load=load_digits,
)
