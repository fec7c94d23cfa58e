"""Latent classes as a model of bits: a mixture whose components have independent columns."""

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from wakesleep.architecture import build
from wakesleep.data import Dataset, MaskedBits, Table, as_bits
from wakesleep.inference.mixing import em_log_weights, joined
from wakesleep.models import HelmholtzMachine, Mixture
from wakesleep.schema import LatentClasses, codes_of
from wakesleep.training.automatic import MOST_SMOOTHED, SMOOTHING

INDEPENDENT = "sbn"
"""A layer without parents: independent columns."""


REPEATED = 30
"""How often each distinct row is there, on average, where counting them is enough."""
SOME_ROWS = 1000
"""Of these most tables have too many distinct ones: then the others are not looked at."""


def rows_repeat(data: Dataset) -> bool:
    """Whether training has few distinct rows, no gaps, and many rows of each."""
    sizes = data.groups or (1,) * data.features
    rows = data.train if isinstance(data.train, MaskedBits) else as_bits(data.train)
    some = rows.take(np.arange(min(SOME_ROWS, len(rows))))
    if LatentClasses.of_distinct_rows(_codes(some, sizes), _states(sizes)) is None:
        return False
    distinct = LatentClasses.of_distinct_rows(_codes(rows, sizes), _states(sizes))
    return distinct is not None and len(rows) >= REPEATED * distinct.classes


def fit_classes(data: Dataset, seed: int = 0) -> Mixture:
    """Latent classes by EM on the training rows, as many as validation rows are better off with.

    One class, which is independent columns, is among what is tried. Where numbers can be moved,
    EM on so many copies of the rows, each with noise of its own, is tried too. Where training has
    few distinct rows, they are mixed with a class for each of these.
    """
    sizes = data.groups or (1,) * data.features
    states = _states(sizes)
    train, valid = (_codes(table, sizes) for table in (data.train, data.valid))
    found = [LatentClasses.fit(train, states, valid, seed)]
    smoothing = None if data.table is None else data.table.smoothing
    if smoothing is not None and len(train) <= MOST_SMOOTHED:
        rng = np.random.default_rng(seed)
        copies = max(1, MOST_SMOOTHED // len(train))
        moved = [smoothing.moved(np.arange(len(train)), SMOOTHING, rng) for _ in range(copies)]
        found.append(LatentClasses.fit(np.concatenate(moved), states, valid, seed))
    # The first of equals.
    best = max(found, key=lambda one: float(one.log_prob(valid).mean()))
    distinct = LatentClasses.of_distinct_rows(train, states)
    members = [best] if distinct is None else [best, distinct]
    weights = em_log_weights(np.stack([one.log_prob(valid) for one in members], axis=1))
    return joined([class_model(one, data) for one in members], weights)


def class_model(classes: LatentClasses, data: Dataset) -> Mixture:
    """The mixture that gives rows of the data the same probabilities."""
    plain = build(
        INDEPENDENT, data.features, key=jax.random.key(0), groups=data.groups, masked=data.masked
    )
    assert isinstance(plain, HelmholtzMachine)
    means = jnp.asarray(_unit_means(classes, plain.groups), jnp.float32)
    return Mixture([plain.with_visible_mean(mean) for mean in means.T], classes.log_shares)


def _unit_means(classes: LatentClasses, sizes: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """The probability that each unit is 1 in each class, `[D, C]`; a single unit is in state 1."""
    first = np.cumsum((0, *classes.states))[:-1]
    return np.delete(np.exp(classes.log_probabilities), first[np.asarray(sizes) == 1], axis=0)


def _states(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(2 if size == 1 else size for size in sizes)


def _codes(table: Table, sizes: tuple[int, ...]) -> npt.NDArray[np.int32]:
    if isinstance(table, MaskedBits):
        return codes_of(table[:], sizes, table.observed[:] > 0)
    return codes_of(as_bits(table)[:], sizes)
