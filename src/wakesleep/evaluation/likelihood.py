"""log p(x) of a data set under a model."""

from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Key

from wakesleep.errors import UsageError
from wakesleep.evaluation.adaptive import AdaptiveSampling
from wakesleep.evaluation.components import Components
from wakesleep.evaluation.evaluator import Evaluator
from wakesleep.evaluation.exact import Enumeration
from wakesleep.evaluation.partial_results import Checkpoint, fingerprint
from wakesleep.evaluation.result import LogLikelihood
from wakesleep.evaluation.sampling import ImportanceSampling
from wakesleep.evaluation.tiles import Widths
from wakesleep.evaluation.visible import FullyVisible
from wakesleep.evaluation.workers import evaluate_all, workers_within
from wakesleep.inference.blocks import Progress
from wakesleep.inference.normaliser import (
    check_small,
    log_normaliser,
    summed_log_normaliser,
    undirected_top,
)
from wakesleep.inference.rows import checked_rows, examples
from wakesleep.keys import LikeKey, as_key
from wakesleep.models import BitModel, HelmholtzMachine, LatentModel, Masked, Mixture, TableModel
from wakesleep.options import Fraction, Number, Whole, check_option

METHODS = ("importance", "combined", "exact")

DEFENSIVE = 0.1
"""The share of samples that is not q's, unless given."""

NORMALISER = 2**31 - 2
"""Folded into the key for log Z: no tile of samples has this number."""


def log_likelihood(
    model: LatentModel | TableModel,
    data: Any,
    samples: int = 1_000,
    *,
    key: LikeKey | None = None,
    method: str = "importance",
    tolerance: float | int | None = None,
    defensive: float | int = DEFENSIVE,
    memory: float | int = 2e9,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
) -> LogLikelihood:
    """log p(x) of every row of `data`: by importance sampling from q (eq. 1), or exactly.

    The same model, data, samples, tolerance and key give the same numbers to the bit,
    whatever the memory, and whether or not the evaluation was interrupted.

    Args:
        model: a Helmholtz machine, a mixture of them, or any other latent model. Each component of
            a mixture is evaluated as it would be alone, with samples of its own. With a
            `TableModel` the values are in the table's own units.
        data: `[N, D]` of 0 and 1: `PackedBits`, an array or a sparse matrix; `MaskedBits`, of
            which the observed cells are scored; for other models any tree of arrays with the rows
            in front. For a `TableModel` a frame, a file or whatever else is a table.
        samples: K per row, and per component of a mixture; with a tolerance, the most that a row
            may take (a state that an
            SMC run scores counts as one).
        key: the randomness: a seed or a JAX key; "exact" needs none.
        method: "importance"; "combined", which takes all combinations of the samples of a Helmholtz
            machine's layers, up to 64 at a time, all of them q's (`inference/combinations.py`); or
            "exact" by listing the latent states of a small Helmholtz
            machine. A machine without latents and an EoNADE are always exact, but for the log Z of
            an RBM: under an undirected top log Z is estimated once, from both sides
            (`wakesleep.log_normaliser`), and summed up with "exact".
        tolerance: leave a row as soon as the standard error and the bias of its log p̂(x)
            are credibly below this many nats, instead of always drawing K samples; in a
            Helmholtz machine, a row whose weights are too uneven for that goes on with SMC
            runs (`inference/smc.py`).
        defensive: the share of a Helmholtz machine's samples that comes from a broadened q and
            from dreams, so that a mode of the posterior that q never draws is not missed silently
            (`inference/defensive.py`); 0 for q alone, as in the paper.
        memory: bytes the process should stay within.
        checkpoint: a file to keep finished rows in; if it exists, the evaluation continues
            from it.
        progress: called with the numbers of rows done and in all.

    >>> import jax, wakesleep as ws
    >>> model = ws.build("sbn/sbn 2-3", features=4, key=jax.random.key(0))
    >>> exact = ws.log_likelihood(model, [[0, 1, 1, 0]], method="exact")
    >>> score = ws.log_likelihood(model, [[0, 1, 1, 0]], samples=100, key=jax.random.key(1))
    >>> bool(abs(score.mean - exact.mean) < 0.1)
    True
    """
    options = _Options(samples, None if key is None else as_key(key), method, tolerance, defensive)
    if isinstance(model, TableModel):
        read = model.read(data)
        found = log_likelihood(
            model.model,
            read.rows,
            samples,
            key=options.key,
            method=method,
            tolerance=tolerance,
            defensive=defensive,
            memory=memory,
            checkpoint=checkpoint,
            progress=progress,
        )
        return found.shifted(read.log_measure)
    _check_options(options, model, memory)
    rows = checked_rows(model, data)
    evaluator = _evaluator(model, examples(rows, np.array([0])), options)
    store = None
    if checkpoint is not None:
        key_data = None if options.key is None else jax.random.key_data(options.key).tolist()
        settings = (method, samples, tolerance, key_data, float(defensive))
        store = Checkpoint(Path(checkpoint), fingerprint(model, rows, *settings))
    workers = workers_within(int(memory), evaluator.bytes_per_tile)
    records = evaluate_all(evaluator, rows, workers=workers, checkpoint=store, progress=progress)
    rbm = undirected_top(model)
    if rbm is None:
        return LogLikelihood(records, "exact" if evaluator.exact else method)
    if method == "exact":
        return LogLikelihood(records, method).normalised(summed_log_normaliser(rbm))
    assert options.key is not None
    # Once for all rows.
    log_z = log_normaliser(model, key=jax.random.fold_in(options.key, NORMALISER), rows=rows)
    return LogLikelihood(records, method).normalised(log_z)


class _Options(NamedTuple):
    samples: int
    key: Key[Array, ""] | None
    method: str
    tolerance: float | int | None
    defensive: float | int

    def of(self, component: int) -> "_Options":
        """The same with randomness of its own for a component of a mixture."""
        if self.key is None:
            return self
        return self._replace(key=jax.random.fold_in(self.key, component))


def _evaluator(model: LatentModel, x: Any, options: _Options) -> Evaluator:
    """The way to evaluate the model on examples like `x`, a tree of arrays `[1, ...]`."""
    samples, key, method, tolerance, defensive = options
    if isinstance(model, Mixture):
        return Components(
            [_evaluator(each, x, options.of(c)) for c, each in enumerate(model.components)],
            np.asarray(model.log_proportions, np.float64),
        )
    masked = isinstance(x, Masked)
    whole = model.exact_samples(masked=masked) if isinstance(model, BitModel) else None
    if isinstance(model, BitModel) and whole is not None:
        return FullyVisible(model, Widths.of(model, x), whole)
    if isinstance(model, HelmholtzMachine):
        if masked and method == "exact" and not model.p[0].factorial:
            raise UsageError(
                "method 'exact' cannot sum over the missing cells of an autoregressive layer: use "
                "method 'importance'"
            )
        if method == "exact":
            return Enumeration.of(model)
    assert key is not None
    if method == "combined" and isinstance(model, HelmholtzMachine):
        return ImportanceSampling.combined(model, x, samples, key)
    sampling = ImportanceSampling.of(model, x, samples, key, defensive)
    if tolerance is not None and sampling.tiling.blocks > 1:
        return AdaptiveSampling(sampling, float(tolerance), masked)
    return sampling


def _check_options(options: _Options, model: LatentModel, memory: float | int) -> None:
    samples, key, method, tolerance, defensive = options
    if method not in METHODS:
        raise UsageError(f"method '{method}' is unknown; valid: {', '.join(METHODS)}")
    if method == "exact" and not isinstance(model, BitModel):
        raise UsageError(
            "method 'exact' lists the latent states of a Helmholtz machine, which this model is "
            "not: use method 'importance'"
        )
    if method == "combined":
        _check_combined(model, tolerance)
    rbm = undirected_top(model)
    if method == "exact" and rbm is not None:
        check_small(rbm)
    if method != "exact" and key is None:
        raise UsageError("importance sampling needs a key, such as key=0")
    check_option("samples", int(samples) if isinstance(samples, np.integer) else samples, Whole(1))
    if tolerance is not None:
        check_option("tolerance", tolerance, Number(above=0))
    check_option("defensive", defensive, Fraction())
    check_option("memory", memory, Number(above=0))


def _check_combined(model: LatentModel, tolerance: float | int | None) -> None:
    if not isinstance(model, BitModel):
        raise UsageError(
            "method 'combined' takes the layers of a Helmholtz machine, which this model is not: "
            "use method 'importance'"
        )
    if tolerance is not None:
        raise UsageError(
            "method 'combined' draws the same number of samples for every row: leave out the "
            "tolerance, or use method 'importance'"
        )
