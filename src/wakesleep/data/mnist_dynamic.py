"""MNIST whose training bits are drawn anew from the grey values in every epoch."""

from functools import partial

from wakesleep.data.archives import absence, load_mnist_grey
from wakesleep.data.binarisation import Binarisation
from wakesleep.data.dataset import SPLITS, Dataset, DatasetEntry
from wakesleep.data.grey import GreyRows


def load_mnist_dynamic() -> Dataset:
    """Grey MNIST; a bit is 1 with the probability grey / 255."""
    dynamic = Binarisation()
    parts = dynamic.apply({split: GreyRows(load_mnist_grey(split)[0]) for split in SPLITS})
    return Dataset(
        "mnist_dynamic",
        train=parts["train"],
        valid=parts["valid"],
        test=parts["test"],
        binarisation=dynamic.description,
        image_shape=(28, 28),
    )


MNIST_DYNAMIC = DatasetEntry(
    name="mnist_dynamic",
    description="28 x 28 handwritten digits, training bits drawn anew each epoch from grey values",
    sizes=(50_000, 10_000, 10_000),
    features=784,
    load=load_mnist_dynamic,
    absence=partial(absence, "mnist_grey"),
)
