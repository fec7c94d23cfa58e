"""One value for a cell of which probabilities are known: the best level, the median number."""

from typing import Any

import numpy as np
import numpy.typing as npt

from wakesleep.schema.numbers import NumberColumn
from wakesleep.schema.schema import Bits, Schema, bits_of

Floats = npt.NDArray[np.float64]


def most_probable(schema: Schema, probabilities: npt.NDArray[Any]) -> Bits:
    """Bits `[N, D]` of rows whose units are 1 with these probabilities, `[N, D]`.

    A column of levels gets its most probable one, a column of numbers the bin of their median: the
    most probable bin would be one of many that are nearly as good.
    """
    codes = np.empty((len(probabilities), len(schema.groups)), np.int32)
    ends = np.cumsum(schema.groups)
    for group, (column, size, end) in enumerate(
        zip(schema.modelled, schema.groups, ends, strict=True)
    ):
        part = np.asarray(probabilities[:, end - size : end], np.float64)
        if size == 1:
            codes[:, group] = part[:, 0] > 0.5
        elif isinstance(column, NumberColumn) and not column.missing_level:
            order = column.bins.order()
            codes[:, group] = order[_median_places(part[:, order])]
        else:
            codes[:, group] = part.argmax(axis=1)
    return bits_of(codes, schema.states)


def _median_places(probabilities: Floats) -> npt.NDArray[np.intp]:
    """The first place at which half of the probability is reached."""
    total = probabilities.cumsum(axis=1)
    return (total >= 0.5 * total[:, -1:]).argmax(axis=1)
