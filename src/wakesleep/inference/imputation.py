"""`impute`: rows with missing bits in, draws and probabilities of those bits out."""

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
from wakesleep.inference.blocks import Block, Blocks, Progress
from wakesleep.inference.exact_imputation import ExactImputer
from wakesleep.inference.moves import Moved, Target, move
from wakesleep.inference.population import (
    Particles,
    first_imputations,
    propose,
    weighted_mean,
)
from wakesleep.inference.resampling import multinomial, take
from wakesleep.inference.rows import checked_rows
from wakesleep.models import BitModel, EoNADE, HelmholtzMachine, LatentModel

LARGEST_ARRAY = 1 << 26
"""Bytes of a block's widest array."""

FEW = 10
"""Effective samples below which a row that was not moved should not be believed."""

STUCK = 0.01
"""The accepted share below which moves have not gone far from where they began."""


@dataclass(frozen=True, eq=False)
class Imputation:
    """Rows whose missing bits were drawn and averaged.

    A row without missing bits costs nothing: it is returned as it is, and what is said of its
    samples is nan. So it is of rows that an EoNADE imputed, which has none to weigh.

    Attributes:
        draws: imputed rows, `[N, draws, D]`, uint8; observed bits as they were.
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


class _Options(NamedTuple):
    samples: int
    draws: int
    moves: int
    threshold: float | int


def impute(
    model: LatentModel,
    x: Any,
    missing: Any = None,
    samples: int = 500,
    *,
    key: Key[Array, ""],
    draws: int = 10,
    moves: int = 20,
    threshold: float | int = 0.1,
    progress: Progress | None = None,
) -> Imputation:
    """Draw the missing bits of every row from p(x_missing | x_observed), and average them.

    K latents are proposed by q from rows whose missing bits were imputed by the model,
    weighted by p(x_observed, h) / q(h | imputed row) and resampled. Rows whose weights are
    uneven go on with Metropolis moves on the latents and the missing bits. The draws of a row
    depend on the key and on the rows with missing bits, not on those without.

    Args:
        model: a Helmholtz machine; or an EoNADE, which needs neither samples nor moves.
        x: `[N, D]` of 0 and 1; what it holds at missing places is not looked at.
        missing: `[N, D]`, true where a bit is missing; None: where x is nan.
        samples: K, the imputations considered for each row.
        key: the randomness.
        draws: imputations returned for each row, at most `samples`.
        moves: sweeps of Metropolis moves for rows with a low effective sample size.
        threshold: what is low, as a fraction of `samples`: 0 moves no row, 1 moves them all.
        progress: called with the numbers of rows done and in all, of those with missing bits.

    >>> import jax, numpy as np, wakesleep as ws
    >>> model = ws.build("sbn/sbn 2-3", features=4, key=jax.random.key(0))
    >>> imputed = ws.impute(model, [[0, 1, np.nan, np.nan]], key=jax.random.key(1))
    >>> imputed.draws.shape, imputed.probabilities[0, :2].tolist()
    ((1, 10, 4), [0.0, 1.0])
    """
    options = _Options(samples, draws, moves, threshold)
    _check_options(options)
    if not isinstance(model, HelmholtzMachine | EoNADE):
        raise UsageError("impute is for Helmholtz machines and EoNADEs, which this model is not")
    if isinstance(model, HelmholtzMachine) and not model.latent_sizes:
        raise UsageError("a model without latents has no q to impute missing bits with")
    bits, mask = _checked(model, x, missing)
    result = _as_observed(bits, draws)
    partial = np.flatnonzero(mask.any(axis=1))
    if len(partial):
        blocks = Blocks(len(partial), _block_rows(model, samples, len(partial)))
        table: ExactImputer | _Table
        if isinstance(model, EoNADE):
            table = ExactImputer(model, bits[partial], mask[partial], draws)
        else:
            table = _Table(model, bits[partial], mask[partial], options)
        imputed = blocks.map(lambda block: table.impute(block, key), progress)
        for name, values in imputed.items():
            getattr(result, name)[partial] = values
    return result


class _Table(NamedTuple):
    """Rows that all have missing bits."""

    model: HelmholtzMachine
    bits: npt.NDArray[np.uint8]
    missing: npt.NDArray[np.bool_]
    options: _Options

    def impute(self, block: Block, key: Key[Array, ""]) -> dict[str, Any]:
        """A block's fields of an `Imputation`."""
        options = self.options
        key_propose, key_move = jax.random.split(jax.random.fold_in(key, block.number))
        x = jnp.asarray(self.bits[block.filled], jnp.float32)
        missing = jnp.asarray(self.missing[block.filled])
        proposed = _propose(self.model, key_propose, x, missing, options.samples)
        low = _low(np.asarray(proposed.effective_samples), options)
        moved = None
        if low[: len(block)].any():
            target = Target(self.model, missing[:, None])
            moved = _move(target, key_move, proposed.particles, options.moves)
        fields = _fields(proposed, moved, low, options.draws)
        fields["probabilities"] = np.where(missing, fields["probabilities"], x)
        return fields


def _low(effective_samples: npt.NDArray[Any], options: _Options) -> npt.NDArray[np.bool_]:
    """Which rows are to be moved."""
    if not options.moves:
        return np.zeros(len(effective_samples), np.bool_)
    few = effective_samples < options.threshold * options.samples
    return few | (options.threshold >= 1)


def _fields(
    proposed: _Proposed, moved: Moved | None, low: npt.NDArray[np.bool_], draws: int
) -> dict[str, Any]:
    """What weighting gave, and for rows with few effective samples what the moves did."""
    x = np.asarray(proposed.particles.x[:, :draws])
    probabilities = np.asarray(proposed.probabilities)
    accepted = np.full(len(low), np.nan, np.float32)
    if moved is not None:
        x = np.where(low[:, None, None], moved.particles.x[:, :draws], x)
        probabilities = np.where(low[:, None], moved.probabilities, probabilities)
        accepted = np.where(low, moved.accepted, accepted)
    return {
        "draws": x.astype(np.uint8),
        "probabilities": probabilities,
        "log_likelihood": proposed.log_likelihood,
        "effective_samples": proposed.effective_samples,
        "moved": low,
        "accepted": accepted,
    }


def _as_observed(bits: npt.NDArray[np.uint8], draws: int) -> Imputation:
    """The result for rows that miss nothing."""
    nothing = np.full(len(bits), np.nan, np.float32)
    return Imputation(
        draws=np.repeat(bits[:, None], draws, axis=1),
        probabilities=bits.astype(np.float32),
        log_likelihood=nothing,
        effective_samples=nothing.copy(),
        moved=np.zeros(len(bits), np.bool_),
        accepted=nothing.copy(),
    )


@eqx.filter_jit
def _propose(
    model: HelmholtzMachine,
    key: Key[Array, ""],
    x: Float[Array, "B D"],
    missing: Bool[Array, "B D"],
    samples: int,
) -> _Proposed:
    key_impute, key_propose, key_resample = jax.random.split(key, 3)
    each = missing[:, None]
    imputed = first_imputations(model, key_impute, x, each, samples)
    weighted = propose(model, key_propose, imputed, each)
    chosen = multinomial(key_resample, weighted.log_weights)
    return _Proposed(
        take(weighted.particles, chosen),
        weighted_mean(weighted),
        importance.log_likelihood_estimate(weighted.log_weights),
        importance.effective_sample_size(weighted.log_weights),
    )


@eqx.filter_jit
def _move(target: Target, key: Key[Array, ""], particles: Particles, sweeps: int) -> Moved:
    return move(target, key, particles, sweeps)


def _block_rows(model: BitModel, samples: int, rows: int) -> int:
    widest = max(model.features, *model.latent_sizes, 1)
    return max(1, min(rows, LARGEST_ARRAY // (4 * samples * widest)))


def _check_options(options: _Options) -> None:
    samples, draws, moves, threshold = options
    if samples < 1:
        raise UsageError(f"samples is {samples}, but it must be at least 1")
    if not 1 <= draws <= samples:
        raise UsageError(f"draws is {draws}, but it must be from 1 to samples, which is {samples}")
    if moves < 0:
        raise UsageError(f"moves is {moves}, but it must be 0 or more")
    if not 0 <= threshold <= 1:
        raise UsageError(f"threshold is {threshold}, but it must be from 0 to 1")


def _checked(
    model: BitModel, x: Any, missing: Any
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
