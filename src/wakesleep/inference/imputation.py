"""`complete`: rows with missing bits in, draws and probabilities of those bits out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Bool, Float, Key

from wakesleep import importance
from wakesleep.errors import DataError, UsageError
from wakesleep.inference.moves import Moved, move
from wakesleep.inference.population import (
    Particles,
    first_filling,
    propose,
    resample,
    weighted_mean,
)
from wakesleep.inference.rows import checked_rows
from wakesleep.models import HelmholtzMachine

ROUNDS = 5
"""Unweighted rounds that bring the filling near the observed bits before weights are taken."""

LARGEST_ARRAY = 1 << 26
"""Bytes of a tile's widest array."""

FEW = 10
"""Effective samples below which a row that was not moved should not be believed."""

STUCK = 0.01
"""The accepted share below which moves have not gone far from where they began."""


@dataclass(frozen=True, eq=False)
class Imputation:
    """Rows whose missing bits were drawn and averaged.

    Attributes:
        draws: completed rows, `[N, draws, D]`, uint8; observed bits as they were.
        probabilities: P(x_i = 1 | x_observed), `[N, D]`; observed bits as they were.
        log_likelihood: log p̂(x_observed) of each row, in nats, `[N]`.
        effective_samples: 1 / Σ ω̃² of each row's importance weights, before any move, `[N]`.
        moved: which rows had so few that Metropolis moves followed, `[N]`.
        accepted: the accepted share of q's proposals in a moved row's moves, or of those for the
            missing bits if that is less; nan for rows that were not moved, `[N]`.
    """

    draws: npt.NDArray[np.uint8]
    probabilities: npt.NDArray[np.float32]
    log_likelihood: npt.NDArray[np.float32]
    effective_samples: npt.NDArray[np.float32]
    moved: npt.NDArray[np.bool_]
    accepted: npt.NDArray[np.float32]

    @property
    def unreliable(self) -> npt.NDArray[np.bool_]:
        """Rows with fewer than ten effective samples that moves did not help, `[N]`."""
        stuck = ~self.moved | (self.accepted < STUCK)
        return (self.effective_samples < FEW) & stuck


class _Proposed(NamedTuple):
    particles: Particles
    probabilities: Float[Array, "B D"]
    log_likelihood: Float[Array, " B"]
    effective_samples: Float[Array, " B"]


def impute(
    model: HelmholtzMachine,
    x: Any,
    missing: Any = None,
    samples: int = 500,
    *,
    key: Key[Array, ""],
    draws: int = 10,
    moves: int = 20,
    threshold: float | int = 0.1,
    progress: Callable[[int, int], None] | None = None,
) -> Imputation:
    """Draw the missing bits of every row from p(x_missing | x_observed), and average them.

    K latents are proposed by q from rows whose missing bits were filled in by the model,
    weighted by p(x_observed, h) / q(h | filled row) and resampled. Rows whose weights are
    uneven go on with Metropolis moves on the latents and the missing bits.

    Args:
        model: the machine.
        x: `[N, D]` of 0 and 1; what it holds at missing places is not looked at.
        missing: `[N, D]`, true where a bit is missing; None: where x is nan.
        samples: K, the completions considered for each row.
        key: the randomness.
        draws: completions returned for each row, at most `samples`.
        moves: sweeps of Metropolis moves for rows with a low effective sample size.
        threshold: what is low, as a fraction of `samples`: 0 moves no row, 1 moves them all.
        progress: called with the numbers of rows done and in all.

    >>> import jax, numpy as np, wakesleep as ws
    >>> model = ws.build("sbn/sbn 2-3", features=4, key=jax.random.key(0))
    >>> found = ws.impute(model, [[0, 1, np.nan, np.nan]], key=jax.random.key(1))
    >>> found.draws.shape, found.probabilities[0, :2].tolist()
    ((1, 10, 4), [0.0, 1.0])
    """
    _check_options(samples, draws, moves, threshold)
    if not model.latent_sizes:
        raise UsageError("a model without latents has no q to complete rows with")
    bits, mask = _checked(model, x, missing)
    size = _tile_rows(model, samples, len(bits))
    tiles = []
    for number, start in enumerate(range(0, len(bits), size)):
        rows = np.arange(start, start + size) % len(bits)
        tile_key = jax.random.fold_in(key, number)
        tile = _Tile(model, jnp.asarray(bits[rows], jnp.float32), jnp.asarray(mask[rows]))
        done = min(start + size, len(bits))
        tiles.append(tile.run(tile_key, samples, draws, moves, threshold, done - start))
        if progress:
            progress(done, len(bits))
    return Imputation(*(np.concatenate(parts) for parts in zip(*tiles, strict=True)))


class _Tile(NamedTuple):
    """Rows that are completed together; the last tile is filled up so that one shape compiles."""

    model: HelmholtzMachine
    x: Float[Array, "B D"]
    missing: Bool[Array, "B D"]

    def run(
        self,
        key: Key[Array, ""],
        samples: int,
        draws: int,
        moves: int,
        threshold: float | int,
        count: int,
    ) -> tuple[npt.NDArray[Any], ...]:
        """The first `count` rows' fields of a `Completion`."""
        key_propose, key_move = jax.random.split(key)
        found = _propose(self.model, key_propose, self.x, self.missing, samples)
        ess = np.asarray(found.effective_samples)
        low = (ess < threshold * samples) | (threshold >= 1)
        low &= moves > 0
        x, probabilities = np.asarray(found.particles.x[:, :draws]), np.array(found.probabilities)
        accepted = np.full(len(ess), np.nan, np.float32)
        if low[:count].any():
            after = _move(self.model, key_move, found.particles, self.missing, moves)
            x = np.where(low[:, None, None], after.particles.x[:, :draws], x)
            probabilities = np.where(low[:, None], after.probabilities, probabilities)
            accepted = np.where(low, after.accepted, np.nan).astype(np.float32)
        probabilities = np.where(self.missing, probabilities, self.x)
        likelihood = np.asarray(found.log_likelihood)
        fields = (x.astype(np.uint8), probabilities, likelihood, ess, low, accepted)
        return tuple(field[:count] for field in fields)


@eqx.filter_jit
def _propose(
    model: HelmholtzMachine,
    key: Key[Array, ""],
    x: Float[Array, "B D"],
    missing: Bool[Array, "B D"],
    samples: int,
) -> _Proposed:
    key_fill, key_propose, key_resample = jax.random.split(key, 3)
    each = missing[:, None]
    filled = first_filling(model, key_fill, x, each, samples, ROUNDS)
    weighted = propose(model, key_propose, filled, each)
    return _Proposed(
        resample(key_resample, weighted),
        weighted_mean(weighted),
        importance.log_likelihood_estimate(weighted.log_weights),
        importance.effective_sample_size(weighted.log_weights),
    )


@eqx.filter_jit
def _move(
    model: HelmholtzMachine,
    key: Key[Array, ""],
    particles: Particles,
    missing: Bool[Array, "B D"],
    sweeps: int,
) -> Moved:
    return move(model, key, particles, missing[:, None], sweeps)


def _tile_rows(model: HelmholtzMachine, samples: int, rows: int) -> int:
    widest = max(model.features, *model.latent_sizes)
    return max(1, min(rows, LARGEST_ARRAY // (4 * samples * widest)))


def _check_options(samples: int, draws: int, moves: int, threshold: float | int) -> None:
    if samples < 1:
        raise UsageError(f"samples is {samples}, but it must be at least 1")
    if not 1 <= draws <= samples:
        raise UsageError(f"draws is {draws}, but it must be from 1 to samples, which is {samples}")
    if moves < 0:
        raise UsageError(f"moves is {moves}, but it must be 0 or more")
    if not 0 <= threshold <= 1:
        raise UsageError(f"threshold is {threshold}, but it must be from 0 to 1")


def _checked(
    model: HelmholtzMachine, x: Any, missing: Any
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_]]:
    """Observed bits, 0 in place of the missing ones, and which are missing."""
    values = np.asarray(x)
    if values.dtype.kind not in "biuf":
        raise DataError(f"data holds values of type {values.dtype}, but it must hold 0, 1 and nan")
    mask = np.isnan(values) if missing is None else np.asarray(missing)
    if mask.dtype != np.bool_ or mask.shape != values.shape:
        raise DataError(
            f"missing must be true or false for each of the {values.shape} bits, "
            f"not {mask.dtype} of shape {mask.shape}"
        )
    return checked_rows(model, np.where(mask, 0, values))[:], mask
