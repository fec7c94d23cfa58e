"""Whether two schemas state log-likelihoods in the same units."""

from wakesleep.schema.columns import Column
from wakesleep.schema.frame import quoted
from wakesleep.schema.numbers import NumberColumn
from wakesleep.schema.schema import Schema


def unit_difference(one: Schema, other: Schema) -> str | None:
    """Why log-likelihoods under two schemas of the same rows do not compare, or None.

    Bins may differ: a density is in the column's own units. The columns that are modelled may not,
    nor whether one is a density or a probability, nor whether missing cells count.
    """
    apart = sorted(set(one.names) ^ set(other.names))
    if apart:
        return f"only one of them models column {quoted(apart[0])}"
    for column in one.modelled:
        same = next(each for each in other.modelled if each.name == column.name)
        if column.missing_level != same.missing_level:
            return f"missing cells of column {quoted(column.name)} are a level in only one of them"
        if _is_density(column) != _is_density(same):
            return f"column {quoted(column.name)} has a density in only one of them"
        if _atoms(column) != _atoms(same):
            return f"column {quoted(column.name)} has single values with a probability in only one"
    return None


def _is_density(column: Column) -> bool:
    return isinstance(column, NumberColumn) and not column.bins.whole


def _atoms(column: Column) -> list[float]:
    return column.bins.atoms.tolist() if isinstance(column, NumberColumn) else []
