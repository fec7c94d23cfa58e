"""Rows of groups, of which one unit alone is 1, and mixtures of machines over them, by listing."""

import itertools

import numpy as np

from tests.oracle.layers import layer_log_prob, layer_logits
from tests.oracle.states import all_latents


def every_row(sizes):
    """All rows of one-hot groups and single bits, `[R, D]`."""
    levels = [range(2) if size == 1 else range(size) for size in sizes]
    rows = []
    for chosen in itertools.product(*levels):
        parts = [[v] if s == 1 else np.eye(s)[v] for v, s in zip(chosen, sizes, strict=True)]
        rows.append(np.concatenate(parts))
    return np.array(rows, np.float32)


def row_log_prob(logits, row, sizes):
    """By the definition, one group at a time: units are asked until one says yes."""
    total, at = 0.0, 0
    for size in sizes:
        asked = range(at, at + size)
        for unit in asked:
            yes = 1 / (1 + np.exp(-np.float64(logits[unit])))
            if size > 1 and unit == asked[-1]:
                break
            total += np.log(yes if row[unit] else 1 - yes)
            if size > 1 and row[unit]:
                break
        at += size
    return total


def grouped_log_likelihood(machine, rows, sizes):
    """log p(x) of rows of groups, by listing the latent states, `[B]`."""
    h = [np.asarray(layer, np.float64) for layer in all_latents(machine)]
    states = len(h[0]) if h else 1
    values = [*h, np.zeros((states, 0))]
    layers = zip(machine.p[1:], *(values[:-1], values[1:]), strict=True)
    prior = sum((layer_log_prob(*each) for each in layers), start=np.zeros(states))
    log_p = []
    for row in rows:
        logits = layer_logits(machine.p[0], np.tile(row, (states, 1)), values[0])
        log_p.append(np.logaddexp.reduce(prior + [row_log_prob(one, row, sizes) for one in logits]))
    return np.array(log_p)


def mixture_log_likelihood(mixture, rows, sizes):
    """log Σ_c π_c p_c(x) of rows of groups, `[B]`."""
    log_weights = np.asarray(mixture.log_weights, np.float64)
    log_weights = log_weights - np.logaddexp.reduce(log_weights)
    each = [grouped_log_likelihood(machine, rows, sizes) for machine in mixture.components]
    return np.logaddexp.reduce(np.stack(each, axis=1) + log_weights, axis=1)


def observed_log_likelihood(log_p, rows, row, seen):
    """log p of the units `seen` of one row, and p(row | those) of all rows, given all log p."""
    fits = (np.asarray(rows) == row)[:, seen].all(1)
    total = np.logaddexp.reduce(np.asarray(log_p)[fits])
    return total, np.where(fits, np.exp(log_p - total), 0.0)
