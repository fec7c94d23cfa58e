"""What the components of a mixture have to do with a row, and what follows for the mixture."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Key

from wakesleep.inference.blocks import Progress
from wakesleep.models import HelmholtzMachine, Mixture

Floats = npt.NDArray[np.float64]

COUNTS = 0.01
"""The least share in a row with which a component's diagnostics are the row's."""

UNSURE = 0.1
"""The standard error of a responsibility above which a row should not be believed."""


def responsibilities(model: Mixture, values: npt.NDArray[Any]) -> tuple[Floats, Floats]:
    """log p(x) of a mixture, `[N]`, and p(c | x), `[N, C]`, given each component's log p(x)."""
    joint = values.astype(np.float64) + np.asarray(model.log_proportions, np.float64)
    # Term by term, so that a row's sum is the same in any company.
    total = functools.reduce(np.logaddexp, joint.T)
    return total, np.exp(joint - total[:, None])


def joint_effective_samples(shares: Floats, each: npt.NDArray[Any]) -> Floats:
    """Of all components' weights together, 1 / Σ_c r_c² / ESS_c.

    A component that is exact, with nan samples, adds nothing to the sum.
    """
    unevenness = np.where(np.isnan(each), 0.0, np.square(shares) / each).sum(-1)
    sampled = unevenness > 0
    return np.divide(1, unevenness, out=np.full(len(each), np.nan), where=sampled)


def impute_components(
    model: Mixture, alone: Callable[..., Any], key: Key[Array, ""], progress: Progress | None
) -> dict[str, npt.NDArray[Any]]:
    """The fields of a mixture's `Imputation` from those of its components.

    `alone(component, key=, progress=)` gives an `Imputation` of the rows by one of them.

    Each draw is that of a component chosen by its responsibility, and probabilities are averaged
    by them. A row counts as moved where a component of some share in it was, with the lowest
    accepted share among those. Moves do not mend responsibilities, which rest on the weights before
    them: a row where these are unsure does not count as moved, so that few effective samples
    make it unreliable.
    """
    turns = components_in_turn(model, key, progress)
    each = [vars(alone(component, key=own, progress=told)) for component, own, told in turns]
    return _joined(model, each, jax.random.fold_in(key, len(turns)))


def components_in_turn(
    model: Mixture, key: Key[Array, ""], progress: Progress | None
) -> list[tuple[HelmholtzMachine, Key[Array, ""], Progress | None]]:
    """Every component with a key of its own, and the progress of all of them together."""
    count = len(model.components)

    def told(number: int) -> Progress | None:
        if progress is None:
            return None
        return lambda done, total: progress(number * total + done, count * total)

    return [
        (component, jax.random.fold_in(key, number), told(number))
        for number, component in enumerate(model.components)
    ]


def _joined(
    model: Mixture, each: Sequence[Mapping[str, npt.NDArray[Any]]], key: Key[Array, ""]
) -> dict[str, npt.NDArray[Any]]:
    stacked = {name: np.stack([one[name] for one in each], axis=1) for name in each[0]}
    # Rows that miss nothing have no likelihood, and are the same in every component.
    partial = ~np.isnan(stacked["log_likelihood"]).any(axis=1)
    values = np.where(partial[:, None], stacked["log_likelihood"], 0.0)
    total, shares = responsibilities(model, values)
    draws = stacked["draws"]
    choices = component_choices(key, shares, draws.shape[2])
    rows, slots = np.indices(choices.shape)
    probabilities = np.einsum("nc,ncd->nd", shares, stacked["probabilities"])
    effective = joint_effective_samples(shares, stacked["effective_samples"])
    moved = stacked["moved"] & (shares >= COUNTS)
    accepted = np.where(moved, stacked["accepted"], np.inf).min(axis=1)
    believed = moved.any(axis=1) & (_uncertainty(shares, stacked["effective_samples"]) <= UNSURE)
    return {
        "draws": draws[rows, choices, slots],
        "probabilities": probabilities.astype(np.float32),
        "log_likelihood": np.where(partial, total, np.nan).astype(np.float32),
        "effective_samples": np.where(partial, effective, np.nan).astype(np.float32),
        "moved": believed,
        "accepted": np.where(believed, accepted, np.nan).astype(np.float32),
    }


def component_choices(key: Key[Array, ""], shares: Floats, draws: int) -> npt.NDArray[np.intp]:
    """A component for every draw of every row, `[N, draws]`, by its share."""
    uniform = np.asarray(jax.random.uniform(key, (len(shares), draws)), np.float64)
    below = np.cumsum(shares, axis=1)[:, None, :-1] <= uniform[..., None]
    return below.sum(-1)


def _uncertainty(shares: Floats, effective_samples: npt.NDArray[Any]) -> Floats:
    """The largest standard error of a row's responsibilities, by the delta method."""
    variances = 1 / np.maximum(effective_samples, 1.0)
    all_of_them = (np.square(shares) * variances).sum(-1, keepdims=True)
    own = np.square(shares) * variances
    spread = np.square(shares) * (all_of_them - own + np.square(1 - shares) * variances)
    return np.sqrt(spread).max(-1)
