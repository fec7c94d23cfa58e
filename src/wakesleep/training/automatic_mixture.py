"""Which of the trained models are put together, and whether latent classes are among them."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Key

from wakesleep.data import Dataset, MaskedBits, as_bits
from wakesleep.inference.mixing import cross_fitted, em_log_weights, joined, row_values
from wakesleep.inference.posterior import infer_rows
from wakesleep.models import HelmholtzMachine, Mixture

Floats = npt.NDArray[np.float64]

SURE = 2.0
"""Standard errors."""
ENOUGH_ROWS = 1000
"""Validation rows below which nothing is left out: the error of a small difference on few rows is
itself not known well, and what was left out by mistake costs more than what stays."""
WORTH_IT = 2e-4
"""The share of the log-likelihood that more components must gain."""
SCORING = 4
"""Folded into the key for the score of what was put together."""


@dataclass(frozen=True)
class Assembled:
    """Models put together.

    Attributes:
        model: the mixture.
        machines: how many of its components are no latent classes.
        valid_ll: its validation log-likelihood.
    """

    model: Mixture
    machines: int
    valid_ll: float


def assemble(
    machines: Sequence[HelmholtzMachine | Mixture],
    classes: Mixture,
    data: Dataset,
    samples: int,
    key: Key[Array, ""],
) -> Assembled | None:
    """All machines and latent classes in one mixture, unless fewer are surely as good.

    Few validation rows cannot tell which model is best, but weights learned on them do no harm: a
    mixture is about as good as its best component. So everything stays that is not known to be
    useless. Fewer are taken, in turn the first machine, the classes, and all machines, if at least
    `ENOUGH_ROWS` validation rows are sure (by `SURE` standard errors) that no more than `WORTH_IT`
    of the log-likelihood is lost. None is for the first machine by itself.

    Args:
        machines: the best one first; a mixture among them keeps its shares. Without any, the
            classes are alone.
        classes: latent classes, which keep their shares among themselves.
        data: with a validation set.
        samples: latents per row for the final score.
        key: the randomness of log-likelihoods.
    """
    members = [*machines, classes]
    values = row_values(members, data.valid, key=key)
    every = tuple(range(len(members)))
    best = fewest(values, [every[:1], every[-1:], every[:-1]]) if machines else every
    if machines and best == (0,):
        return None
    mixture = joined([members[i] for i in best], em_log_weights(values[:, best]))
    rows = data.valid if isinstance(data.valid, MaskedBits) else as_bits(data.valid)
    scores = infer_rows(mixture, rows, samples, jax.random.fold_in(key, SCORING)).log_likelihood
    others = len(mixture.components) - (len(classes.components) if every[-1] in best else 0)
    return Assembled(mixture, others, float(np.mean(scores)))


def fewest(values: Floats, options: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The first option that is surely about as good as all columns of `values` `[N, M]` mixed."""
    everything = tuple(range(values.shape[1]))
    if len(values) < ENOUGH_ROWS:
        return everything
    whole = cross_fitted(values)
    for option in options:
        loss = whole - cross_fitted(values[:, option])
        error = np.std(loss, ddof=1) / np.sqrt(len(loss))
        if loss.mean() + SURE * error < WORTH_IT * abs(whole.mean()):
            return option
    return everything
