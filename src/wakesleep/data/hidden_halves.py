"""Half an image hidden: test rows to complete, for pictures."""

import numpy as np

from wakesleep.data import Dataset
from wakesleep.data.partial_files import PartialTable
from wakesleep.errors import UsageError


def hidden_half(data: Dataset, rows: int, hide: str) -> PartialTable:
    """Some test images with a half of each marked as missing.

    They are taken at equal distances: a test set may be grouped by class.
    """
    count = min(rows, len(data.test))
    if not count:
        raise UsageError(f"data set '{data.name}' has no test rows: give a FILE")
    height, width = _image_shape(data)
    row, column = np.indices((height, width))
    # A data set may keep its pixels column after column.
    order = data.images(np.arange(data.features)).ravel()
    halves = {
        "lower": row >= height / 2,
        "upper": row < height / 2,
        "left": column < width / 2,
        "right": column >= width / 2,
    }
    missing = np.empty(data.features, bool)
    missing[order] = halves[hide].ravel()
    bits = data.test[np.linspace(0, len(data.test) - 1, count).astype(int)]
    return PartialTable(bits, np.tile(missing, (count, 1)))


def _image_shape(data: Dataset) -> tuple[int, int]:
    if data.image_shape is None:
        raise UsageError(f"the rows of data set '{data.name}' are not images: give a FILE")
    rows, columns = data.image_shape
    return rows, columns
