"""`impute`: rows with missing bits in, draws and probabilities of those bits out."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Key

from wakesleep.errors import DataError, UsageError
from wakesleep.inference.blocks import Progress
from wakesleep.inference.exact_imputation import ExactImputer, impute_exactly
from wakesleep.inference.gibbs import gibbs_rows
from wakesleep.inference.normaliser import log_normaliser
from wakesleep.inference.responsibilities import impute_components
from wakesleep.inference.rows import checked_rows
from wakesleep.inference.stages import Effort, Fields, PartialRows
from wakesleep.keys import LikeKey, as_key
from wakesleep.models import BitModel, EoNADE, HelmholtzMachine, LatentModel, Mixture, TableModel

ENOUGH = 10
"""Effective samples that are enough for a row, unless said."""

FEW = 10
"""Effective samples below which a row that was not moved should not be believed."""

GIBBS_SWEEPS = 5
"""Of a plain RBM for each move that would be made elsewhere: a sweep is cheap."""

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


def impute(
    model: LatentModel | TableModel,
    x: Any,
    missing: Any = None,
    samples: int = 500,
    *,
    key: LikeKey,
    draws: int = 10,
    moves: int = 20,
    enough: float | int = ENOUGH,
    progress: Progress | None = None,
) -> Any:
    """Draw the missing bits of every row from p(x_missing | x_observed), and average them.

    K latents are proposed by q from rows whose missing bits were imputed by the model,
    weighted by p(x_observed, h) / q(h | imputed row) and resampled. Rows whose weights are
    uneven go on with Metropolis moves on the latents and the missing bits. A model without latents
    draws the missing bits in its order, and weighs them by what was observed behind them. The
    draws of a row depend on the key and on the rows with missing bits, not on those without. A
    plain RBM needs none of that: K chains of each row draw the missing bits by Gibbs sampling,
    five sweeps for each of `moves`; there is no log p̂(x_observed) then.

    Args:
        model: a Helmholtz machine, or a mixture of them: its components impute by themselves, and
            are weighed by their p̂(x_observed). An EoNADE needs neither samples nor moves. With a
            `TableModel` the result is a table like x with the most probable levels, and medians of
            numbers, in its missing cells.
        x: `[N, D]` of 0 and 1; what it holds at missing places is not looked at.
        missing: `[N, D]`, true where a bit is missing; None: where x is nan.
        samples: K, the most imputations weighted for each row.
        key: the randomness: a seed or a JAX key.
        draws: imputations returned for each row, at most `samples`.
        moves: sweeps of Metropolis moves for rows with a low effective sample size; 0 for none.
        enough: the effective samples that are enough. A row starts with few samples, and goes on
            to more, at most K, and then to moves, while it has fewer; infinity moves every row.
        progress: called with the numbers of rows done and in all, of those with missing bits.

    >>> import jax, numpy as np, wakesleep as ws
    >>> model = ws.build("sbn/sbn 2-3", features=4, key=jax.random.key(0))
    >>> imputed = ws.impute(model, [[0, 1, np.nan, np.nan]], key=jax.random.key(1))
    >>> imputed.draws.shape, imputed.probabilities[0, :2].tolist()
    ((1, 10, 4), [0.0, 1.0])
    """
    effort = Effort(samples, draws, moves, enough)
    _check_effort(effort)
    key = as_key(key)
    if isinstance(model, TableModel):
        return _impute_table(model, x, missing, effort, key)
    if isinstance(model, Mixture):
        alone = functools.partial(
            impute,
            x=x,
            missing=missing,
            samples=samples,
            draws=draws,
            moves=moves,
            enough=enough,
        )
        return Imputation(**impute_components(model, alone, key, progress))
    if not isinstance(model, HelmholtzMachine | EoNADE):
        raise UsageError(
            "impute is for Helmholtz machines, mixtures and EoNADEs, which this model is not"
        )
    bits, mask = _checked(model, x, missing)
    result = _as_observed(bits, draws)
    partial = np.flatnonzero(mask.any(axis=1))
    if len(partial):
        found = _impute_partial(model, bits[partial], mask[partial], (effort, key, progress))
        for name, values in found.items():
            getattr(result, name)[partial] = values
    return result


def _impute_partial(
    model: HelmholtzMachine | EoNADE, bits: Any, missing: Any, how: tuple[Effort, Any, Any]
) -> Fields:
    """The fields of rows that all have missing bits, in the way that suits the model."""
    effort, key, progress = how
    if isinstance(model, EoNADE):
        return impute_exactly(ExactImputer(model, bits, missing, effort.draws), key, progress)
    rows = PartialRows(model, bits, missing)
    if model.undirected is None:
        return rows.impute(effort, key, progress)
    if not model.latent_sizes:
        return gibbs_rows(rows, effort, key, progress)
    fields = rows.impute(effort, key, progress)
    fields["log_likelihood"] = fields["log_likelihood"] - log_normaliser(model, key=key).value
    return fields


def _impute_table(
    model: TableModel, table: Any, missing: Any, effort: Effort, key: Key[Array, ""]
) -> Any:
    # That module uses this one.
    from wakesleep.inference.imputed_table import impute_table

    if missing is not None:
        raise UsageError("cells of a table are missing where they are empty: leave `missing` out")
    # What comes back is a table, which has one value for each cell.
    return impute_table(model, table, key=key, **effort._replace(draws=1)._asdict())


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


def _check_effort(effort: Effort) -> None:
    samples, draws, moves, enough = effort
    if samples < 1:
        raise UsageError(f"samples is {samples}, but it must be at least 1")
    if not 1 <= draws <= samples:
        raise UsageError(f"draws is {draws}, but it must be from 1 to samples, which is {samples}")
    if moves < 0:
        raise UsageError(f"moves is {moves}, but it must be 0 or more")
    if not enough > 0:
        raise UsageError(f"enough is {enough}, but it must be above 0")


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
