"""Scikit-learn's 8 x 8 handwritten digits: small, real and always at hand."""

from wakesleep.data.bits import PackedBits
from wakesleep.data.checks import frozen_stream
from wakesleep.data.dataset import Dataset, DatasetEntry

SIZES = (1197, 300, 300)
THRESHOLD = 8


def load_digits() -> Dataset:
    """The digits' 64 grey values 0..16 as bits, in splits that never change."""
    from sklearn import datasets

    grey, _ = datasets.load_digits(return_X_y=True)
    bits = PackedBits.pack(grey >= THRESHOLD)
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


DIGITS = DatasetEntry(
    name="digits",
    description="8 x 8 handwritten digits from scikit-learn, 1 where the grey value is 8 or more",
    sizes=SIZES,
    features=64,
    load=load_digits,
)
