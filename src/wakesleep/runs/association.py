"""How strongly columns go together: Cramér's V of their states. No JAX here.

Numbers are cut into a few groups of equal size first, so that a table of many bins and few rows
does not look associated by chance; what is left of that bias is taken off (Bergsma 2013).
"""

import numpy as np
import numpy.typing as npt

from wakesleep.schema import NumberColumn, Schema

Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

MOST_GROUPS = 6
"""Of a number column."""


def coarse(schema: Schema, data: Codes, *others: Codes) -> list[Codes]:
    """States `[N, G]` with numbers in a few groups of equally many rows of `data`; -1 stays."""
    made = [table.copy() for table in (data, *others)]
    for group, column in enumerate(schema.modelled):
        if not isinstance(column, NumberColumn) or column.states <= MOST_GROUPS:
            continue
        order = column.bins.order()
        counts = np.bincount(data[data[:, group] >= 0, group], minlength=schema.states[group])
        before = np.cumsum(counts[order]) - counts[order] / 2
        joined = np.arange(schema.states[group])
        share = before / max(1, counts[order].sum())
        joined[order] = np.minimum((MOST_GROUPS * share).astype(int), MOST_GROUPS - 1)
        # Missing-ness, where it is a state, keeps one of its own.
        joined[column.states :] = MOST_GROUPS
        for table in made:
            seen = table[:, group] >= 0
            table[seen, group] = joined[table[seen, group]]
    return made


def association(codes: Codes, columns: npt.NDArray[np.intp]) -> Floats:
    """Cramér's V, from 0 to 1, of each pair of some columns of states `[N, G]`; 1 with itself."""
    result = np.eye(len(columns))
    for i, first in enumerate(columns):
        for j, second in enumerate(columns[:i]):
            result[i, j] = result[j, i] = cramers_v(codes[:, first], codes[:, second])
    return result


def cramers_v(a: Codes, b: Codes) -> float:
    """Of two columns of states, over rows where neither is missing (-1); 0 where one is constant.

    >>> x = np.array([0, 1, 0, 1] * 25, np.int32)
    >>> cramers_v(x, x), cramers_v(x, np.repeat(x[:2], 50))
    (1.0, 0.0)
    """
    both = (a >= 0) & (b >= 0)
    if both.sum() < 2:
        return 0.0
    (rows, x), (columns, y) = (np.unique(each[both], return_inverse=True) for each in (a, b))
    r, c, n = len(rows), len(columns), int(both.sum())
    if min(r, c) < 2:
        return 0.0
    table = np.bincount(x * c + y, minlength=r * c).reshape(r, c)
    expected = np.outer(table.sum(1), table.sum(0)) / n
    phi = ((table - expected) ** 2 / expected).sum() / n
    corrected = max(0.0, phi - (r - 1) * (c - 1) / (n - 1))
    r_corrected, c_corrected = (k - (k - 1) ** 2 / (n - 1) for k in (r, c))
    smallest = min(r_corrected, c_corrected) - 1
    if smallest <= 0:
        return 0.0
    return float(min(1.0, np.sqrt(corrected / smallest)))
