"""The real data sets, packed files in the folder that WAKESLEEP_DATA names."""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.data.dataset import SPLITS, Dataset, DatasetEntry
from wakesleep.data.numpy_files import open_archive, read_numpy
from wakesleep.errors import DataError, UsageError

FOLDER_VARIABLE = "WAKESLEEP_DATA"


@dataclass(frozen=True)
class PackedSet:
    """What is known of a file beforehand; the fields are those of `Dataset`."""

    name: str
    description: str
    sizes: tuple[int, int, int]
    features: int
    binarisation: str = "already binary"
    image_shape: tuple[int, int] | None = None
    column_major: bool = False
    inverted: bool = False

    def entry(self) -> DatasetEntry:
        """Its line in the registry."""
        return DatasetEntry(
            self.name,
            self.description,
            self.sizes,
            self.features,
            load=partial(load_packed, self),
            absence=partial(absence, self.name),
        )


def load_packed(known: PackedSet, /) -> Dataset:
    """Read a set's file and check that it has the size it must have."""
    path = _present_file(known.name)
    tables = read_numpy(path)
    if not isinstance(tables, dict) or set(tables) != set(SPLITS):
        raise DataError(f"{path} must hold the arrays train, valid and test")
    for (split, bits), rows in zip(tables.items(), known.sizes, strict=True):
        if bits.shape != (rows, known.features):
            raise DataError(
                f"{path}: {split} is {bits.shape[0]} x {bits.shape[1]}, "
                f"but in data set '{known.name}' it is {rows} x {known.features}"
            )
    return Dataset(
        known.name,
        train=tables["train"],
        valid=tables["valid"],
        test=tables["test"],
        binarisation=known.binarisation,
        image_shape=known.image_shape,
        column_major=known.column_major,
        inverted=known.inverted,
    )


def load_mnist_grey(split: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Grey MNIST in its original order: pixels 0..255, `[N, 784]`, and labels, `[N]`.

    It is no data set of bits: it is there to be binarised anew each epoch, or classified.
    """
    if split not in SPLITS:
        raise UsageError(f"unknown split '{split}'; valid: {', '.join(SPLITS)}")
    path = _present_file("mnist_grey")
    with open_archive(path) as archive:
        grey, labels = archive[split], archive[f"{split}_labels"]
    _check_grey(grey, labels, path)
    return grey, labels


def absence(name: str) -> str | None:
    """Why a set's file cannot be loaded here, or None."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return (
            f"no data here: {FOLDER_VARIABLE} is not set, "
            f"and it must name the folder that holds {name}.npz"
        )
    path = Path(folder) / f"{name}.npz"
    if path.is_file():
        return None
    return (
        f"no data here: there is no file {path}, "
        f"and {FOLDER_VARIABLE} must name the folder that holds {name}.npz"
    )


def _present_file(name: str) -> Path:
    reason = absence(name)
    if reason:
        raise DataError(f"data set '{name}': {reason}")
    return Path(os.environ[FOLDER_VARIABLE]) / f"{name}.npz"


def _check_grey(grey: npt.NDArray[Any], labels: npt.NDArray[Any], path: Path) -> None:
    proper = grey.dtype == labels.dtype == np.uint8 and grey.shape[1:] == (784,)
    if not proper or labels.shape != grey.shape[:1]:
        raise DataError(f"{path} must hold uint8 images of 784 pixels with a label each")


PACKED_SETS = (
    PackedSet(
        "binarized_mnist",
        "28 x 28 handwritten digits in the fixed binarisation; test rows are grouped by digit",
        (50_000, 10_000, 10_000),
        784,
        binarisation="fixed (Salakhutdinov & Murray 2008, as published by Larochelle)",
        image_shape=(28, 28),
    ),
    PackedSet(
        "caltech101_silhouettes",
        "28 x 28 outlines of objects, Marlin's split 1; the background is 1",
        (4_100, 2_264, 2_307),
        784,
        binarisation="already binary (silhouettes by Marlin et al. 2010, split 1)",
        image_shape=(28, 28),
        column_major=True,
        inverted=True,
    ),
    PackedSet("adult", "UCI census records, one-hot", (5_000, 1_414, 26_147), 123),
    PackedSet("connect4", "UCI positions of the game, one-hot", (16_000, 4_000, 47_557), 126),
    PackedSet("dna", "UCI splice junctions, one-hot", (1_400, 600, 1_186), 180),
    PackedSet("mushrooms", "UCI descriptions of mushrooms, one-hot", (2_000, 500, 5_624), 112),
    PackedSet("nips", "words in the papers of NIPS 0 to 12", (400, 100, 1_240), 500),
    PackedSet(
        "ocr_letters",
        "16 x 8 handwritten letters",
        (32_152, 10_000, 10_000),
        128,
        image_shape=(16, 8),
    ),
    PackedSet("rcv1", "words in Reuters news stories", (40_000, 10_000, 150_000), 150),
    PackedSet(
        "web",
        "UCI web pages, a reconstruction: compare with the literature only as such",
        (14_000, 3_188, 32_561),
        300,
        binarisation="already binary (a reconstruction: the splits differ from the literature's)",
    ),
    PackedSet("nltcs", "DEBD: disabilities of the elderly in a survey", (16_181, 2_157, 3_236), 16),
    PackedSet("plants", "DEBD: regions where plants grow", (17_412, 2_321, 3_482), 69),
    PackedSet("baudio", "DEBD: artists that listeners heard", (15_000, 2_000, 3_000), 100),
    PackedSet("bnetflix", "DEBD: films that viewers liked", (15_000, 2_000, 3_000), 100),
    PackedSet(
        "pumsb_star", "DEBD: census records, frequent items out", (12_262, 1_635, 2_452), 163
    ),
    PackedSet("bbc", "DEBD: words in news stories of the BBC", (1_670, 225, 330), 1_058),
    PackedSet("dna_debd", "DEBD: splice junctions in DEBD's own split", (1_600, 400, 1_186), 180),
    PackedSet("moviereview", "DEBD: words in reviews of films", (1_600, 150, 250), 1_001),
)
