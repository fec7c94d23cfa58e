"""Machines put together: the weights of a mixture by EM on rows that were not trained on."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Key
from scipy.special import logsumexp

from wakesleep.data import ArrayRows, MaskedBits, PackedBits, Table, as_bits
from wakesleep.errors import DataError, UsageError
from wakesleep.inference.posterior import infer_rows
from wakesleep.inference.rows import checked_rows
from wakesleep.models import BitModel, HelmholtzMachine, Mixture

Floats = npt.NDArray[np.float64]

ROWS = 2000
"""At most so many rows decide the weights, evenly spaced."""

SAMPLES = 100
ROUNDS = 1000

PRIOR = 1.0
"""Rows that each component is given beforehand, so that none is written off by few rows."""

SETTLED = 1e-9

FOLDS = 5
"""Parts of the rows that decide which components are worth having."""


def mix(
    models: Sequence[BitModel],
    rows: Any,
    *,
    key: Key[Array, ""],
    samples: int = SAMPLES,
) -> Mixture:
    """A mixture of trained models of the same visible units, weighted by how they do on rows.

    Args:
        models: machines, or mixtures, whose components are taken one by one.
        rows: rows that none was trained on, such as a data set's `valid`; at most 2,000 of them
            are used, evenly spaced.
        key: the randomness of the rows' log-likelihoods.
        samples: K, latents per row and component.

    >>> import jax, numpy as np, wakesleep as ws
    >>> keys = jax.random.split(jax.random.key(0))
    >>> parts = [ws.build("nade(hidden=3)", features=4, key=key) for key in keys]
    >>> mixture = ws.mix(parts, np.eye(4), key=jax.random.key(1))
    >>> len(mixture.components)
    2
    """
    # The constructor says what is wrong before anything is computed.
    parts = joined(models, np.zeros(len(models))).components
    return Mixture(parts, fit_mixture_weights(parts, rows, key=key, samples=samples))


def joined(models: Sequence[BitModel], log_weights: npt.ArrayLike) -> Mixture:
    """The mixture with these weights; a mixture among the models keeps its own within it."""
    components: list[HelmholtzMachine] = []
    logs: list[Floats] = []
    for model, weight in zip(models, np.asarray(log_weights, np.float64), strict=True):
        if not isinstance(model, HelmholtzMachine | Mixture):
            raise UsageError("only Helmholtz machines can be mixed, and mixtures of them")
        if isinstance(model, Mixture):
            components += model.components
            logs.append(weight + np.asarray(model.log_proportions, np.float64))
        else:
            components.append(model)
            logs.append(np.array([weight]))
    return Mixture(components, np.concatenate(logs))


def fit_mixture_weights(
    components: Sequence[HelmholtzMachine],
    rows: Any,
    *,
    key: Key[Array, ""],
    samples: int = SAMPLES,
) -> Floats:
    """log π_c that make the rows' mixture log-likelihood largest, `[C]`; see `mix`.

    EM on the components' log p̂ of each row; every component counts as if it had one row of its
    own, so that it keeps some weight. The same arguments give the same weights.
    """
    return em_log_weights(row_values(components, rows, key=key, samples=samples))


def row_values(
    models: Sequence[BitModel], rows: Any, *, key: Key[Array, ""], samples: int = SAMPLES
) -> Floats:
    """Each model's log p̂ of the rows, or of 2,000 of them evenly spaced, `[N, C]`."""
    chosen = spaced_rows(checked_rows(models[0], rows))
    values = [
        infer_rows(each, chosen, samples, jax.random.fold_in(key, number)).log_likelihood
        for number, each in enumerate(models)
    ]
    return np.stack(values, axis=1)


def cross_fitted(values: Floats, folds: int = FOLDS) -> Floats:
    """The log-likelihood of each row by a mixture whose weights were learned on other rows, `[N]`.

    `values` are each component's log p of every row, `[N, C]`. A row is scored with the weights of
    the folds that it is not in: so more components are better only if they would be on new rows.
    """
    fold = np.arange(len(values)) % folds
    scores = np.empty(len(values))
    for number in range(folds):
        own = fold == number
        scores[own] = logsumexp(values[own] + em_log_weights(values[~own]), axis=1)
    return scores


def em_log_weights(values: Floats) -> Floats:
    """log π_c by EM, given each component's log p of every row, `[N, C]`."""
    count = values.shape[1]
    log_weights = np.full(count, -np.log(count))
    for _ in range(ROUNDS):
        joint = values + log_weights
        shares = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        before, log_weights = log_weights, np.log(shares.sum(0) + PRIOR)
        log_weights -= logsumexp(log_weights)
        if np.abs(np.exp(log_weights) - np.exp(before)).max() < SETTLED:
            break
    return log_weights


def spaced_rows(table: Table) -> PackedBits | MaskedBits:
    """At most `ROWS` rows, evenly spaced; grey ones are drawn once."""
    if isinstance(table, ArrayRows):
        raise DataError("a mixture is weighted on rows of bits, not on arrays")
    rows = table if isinstance(table, MaskedBits) else as_bits(table)
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(ROWS, len(rows))).astype(int))
    return rows.take(chosen)
