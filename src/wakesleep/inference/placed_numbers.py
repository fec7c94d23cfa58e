"""What the observed numbers of a row say of its missing cells beyond the bins they are in.

A model of bits knows the bins of observed numbers alone. But the density of a table places each
number in its bin given the numbers before it, missing ones among them:

    p(missing | observed) ∝ p(missing bins | observed bins) Π_observed p(x_k | bin_k, x_<k).

So imputations that were drawn by the bins are weighed by how well the observed numbers then fit.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from wakesleep.inference.imputation import Imputation
from wakesleep.schema import Encoded, NumberColumn, Schema
from wakesleep.schema.point_estimates import state_probabilities

Floats = npt.NDArray[np.float64]

DRAWS = 64
"""Imputations that are weighed for each row."""
PRIOR = 2.0
"""Draws of average weight that each state is given beforehand: a state of few draws is hardly
weighed by them."""
BLOCK = 512
"""Rows that are weighed at once."""


def is_useful(schema: Schema, encoded: Encoded) -> bool:
    """Whether there are cells to impute beside numbers that are placed given each other."""
    return schema.within is not None and bool(_concerned(schema, encoded).any())


def _concerned(schema: Schema, encoded: Encoded) -> npt.NDArray[np.bool_]:
    """The rows with a missing cell and an observed number, `[N]`."""
    groups = list(schema.within.groups) if schema.within else []
    numbers = ~np.isnan(encoded.within[:, groups])
    return np.asarray(numbers.any(axis=1) & ~encoded.observed.all(axis=1))


def weighed(
    schema: Schema, encoded: Encoded, imputed: Imputation, rng: np.random.Generator, count: int = 1
) -> Imputation:
    """The same with probabilities by weighed draws, and `count` draws of each row by weight."""
    draws, probabilities = imputed.draws[:, :count].copy(), imputed.probabilities.copy()
    concerned = np.flatnonzero(_concerned(schema, encoded))
    for start in range(0, len(concerned), BLOCK):
        rows = concerned[start : start + BLOCK]
        drawn = imputed.draws[rows]
        weights = draw_weights(schema, encoded.within[rows], drawn, rng)
        probabilities[rows] = _probabilities(schema, probabilities[rows], drawn, weights)
        reached = weights.cumsum(axis=1)[:, None]
        chosen = (reached < rng.random((len(rows), count, 1)) * reached[..., -1:]).sum(axis=2)
        draws[rows] = np.take_along_axis(drawn, chosen[..., None], axis=1)
    return dataclasses.replace(imputed, draws=draws, probabilities=probabilities)


def draw_weights(
    schema: Schema, known: Floats, draws: npt.NDArray[np.uint8], rng: np.random.Generator
) -> Floats:
    """The weights `[N, S]` of imputed rows `[N, S, D]`, which sum to one over the draws.

    `known` are the observed numbers, `[N, G]`, as `Encoded.within` has them.
    """
    log_weights = _log_weights(schema, known, draws, rng)
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _log_weights(
    schema: Schema, known: Floats, draws: npt.NDArray[np.uint8], rng: np.random.Generator
) -> Floats:
    within = schema.within
    assert within is not None
    groups, (rows, count, units) = list(within.groups), draws.shape
    codes = schema.codes(draws.reshape(-1, units))[:, groups].astype(np.int64)
    columns = [schema.modelled[group] for group in groups]
    codes[codes >= np.array([column.states for column in columns])] = -1
    known = np.repeat(known[:, groups], count, axis=0)
    even = np.stack(
        [
            np.where(state < 0, np.nan, column.draw(np.maximum(state, 0), rng, False))
            for column, state in zip(columns, codes.T, strict=True)
            if isinstance(column, NumberColumn)
        ],
        axis=1,
    )
    bins = schema.bins_within()
    placed = within.place(codes, even, known, bins, rng)
    return within.log_ratio(codes, placed, bins, ~np.isnan(known)).reshape(rows, count)


def _probabilities(
    schema: Schema,
    probabilities: npt.NDArray[np.float32],
    draws: npt.NDArray[np.uint8],
    weights: Floats,
) -> npt.NDArray[np.float32]:
    """Probabilities of units `[N, D]`, each bin's times the mean weight of the draws in it.

    Those of levels stay: where several are nearly as good, so few draws would choose by chance,
    while the median of a number hardly moves.
    """
    out = probabilities.copy()
    ends = np.cumsum(schema.groups)
    average = 1 / draws.shape[1]
    for column, size, end in zip(schema.modelled, schema.groups, ends, strict=True):
        if not isinstance(column, NumberColumn):
            continue
        units = slice(end - size, end)
        part = state_probabilities(probabilities[:, units])
        drawn = draws[:, :, units]
        states = np.concatenate([1 - drawn, drawn], axis=2) if size == 1 else drawn
        total = np.einsum("ns,nsk->nk", weights, states) + PRIOR * average
        part = part * total / (states.sum(axis=1) + PRIOR)
        part /= part.sum(axis=1, keepdims=True)
        out[:, units] = part[:, 1:] if size == 1 else part
    return out
