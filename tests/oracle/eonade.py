"""An EoNADE by loops: one probability after another, in float64 NumPy."""

import itertools

import numpy as np


def levels(size):
    """What a group can be: a bit 0 or 1, or one of several units 1."""
    if size == 1:
        return [np.array([0.0]), np.array([1.0])]
    return list(np.eye(size))


def all_rows(groups):
    """Every row of these groups."""
    return np.array([np.concatenate(row) for row in itertools.product(*map(levels, groups))])


def group_probabilities(model, x, seen, group):
    """P(each level of a group | the groups that are seen)."""
    starts = np.cumsum((0, *model.groups))
    pre = np.array(model.a, np.float64)
    for g in seen:
        pre = pre + np.asarray(model.U, np.float64)[g]
        for i in range(starts[g], starts[g + 1]):
            pre = pre + x[i] * np.asarray(model.W, np.float64)[i]
    hidden = np.maximum(pre, 0)
    for A, a in model.deeper:
        hidden = np.maximum(np.asarray(A, np.float64) @ hidden + np.asarray(a, np.float64), 0)
    units = range(starts[group], starts[group + 1])
    V, b = np.asarray(model.V, np.float64), np.asarray(model.b, np.float64)
    on = [1 / (1 + np.exp(-(V[i] @ hidden + b[i]))) for i in units]
    if len(on) == 1:
        return np.array([1 - on[0], on[0]])
    # Asked in turn; the last is 1 where none before it was.
    none = np.cumprod([1.0, *(1 - np.array(on[:-1]))])
    return none * np.array([*on[:-1], 1.0])


def log_prob(model, x, order):
    """log of the product over the groups in this order; x has all of those in it."""
    starts, total = np.cumsum((0, *model.groups)), 0.0
    for place, group in enumerate(order):
        value = x[starts[group] : starts[group + 1]]
        level = int(value[0]) if len(value) == 1 else int(value.argmax())
        total += np.log(group_probabilities(model, x, order[:place], group)[level])
    return total
