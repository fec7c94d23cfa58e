"""log p(x) of a data set under a model."""

from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Key

from wakesleep.errors import UsageError
from wakesleep.evaluation.adaptive import AdaptiveSampling
from wakesleep.evaluation.evaluator import Evaluator
from wakesleep.evaluation.exact import Enumeration
from wakesleep.evaluation.partial_results import Checkpoint, fingerprint
from wakesleep.evaluation.result import LogLikelihood
from wakesleep.evaluation.sampling import ImportanceSampling
from wakesleep.evaluation.tiles import Widths
from wakesleep.evaluation.visible import FullyVisible
from wakesleep.evaluation.workers import evaluate_all, workers_within
from wakesleep.inference.blocks import Progress
from wakesleep.inference.rows import checked_rows, examples
from wakesleep.models import BitModel, HelmholtzMachine, LatentModel, Masked

METHODS = ("importance", "exact")


def log_likelihood(
    model: LatentModel,
    data: Any,
    samples: int = 1_000,
    *,
    key: Key[Array, ""] | None = None,
    method: str = "importance",
    tolerance: float | int | None = None,
    memory: float | int = 2e9,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
) -> LogLikelihood:
    """log p(x) of every row of `data`: by importance sampling from q (eq. 1), or exactly.

    The same model, data, samples, tolerance and key give the same numbers to the bit,
    whatever the memory, and whether or not the evaluation was interrupted.

    Args:
        model: a Helmholtz machine, or any other latent model.
        data: `[N, D]` of 0 and 1: `PackedBits`, an array or a sparse matrix; `MaskedBits`, of
            which the observed cells are scored; for other models any tree of arrays with the rows
            in front.
        samples: K per row; with a tolerance, the most that a row may take (a state that an
            SMC run scores counts as one).
        key: the randomness; "exact" needs none.
        method: "importance", or "exact" by listing the latent states of a small Helmholtz
            machine. A machine without latents and an EoNADE are always exact.
        tolerance: leave a row as soon as the standard error and the bias of its log p̂(x)
            are credibly below this many nats, instead of always drawing K samples; in a
            Helmholtz machine, a row whose weights are too uneven for that goes on with SMC
            runs (`inference/smc.py`).
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
    options = _Options(samples, key, method, tolerance)
    _check_options(options, model)
    rows = checked_rows(model, data)
    evaluator = _evaluator(model, examples(rows, np.array([0])), options)
    store = None
    if checkpoint is not None:
        key_data = None if key is None else jax.random.key_data(key).tolist()
        settings = (method, samples, tolerance, key_data)
        store = Checkpoint(Path(checkpoint), fingerprint(model, rows, *settings))
    workers = workers_within(int(memory), evaluator.bytes_per_tile)
    records = evaluate_all(evaluator, rows, workers=workers, checkpoint=store, progress=progress)
    return LogLikelihood(records, "exact" if isinstance(evaluator, FullyVisible) else method)


class _Options(NamedTuple):
    samples: int
    key: Key[Array, ""] | None
    method: str
    tolerance: float | int | None


def _evaluator(model: LatentModel, x: Any, options: _Options) -> Evaluator:
    """The way to evaluate the model on examples like `x`, a tree of arrays `[1, ...]`."""
    samples, key, method, tolerance = options
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
    sampling = ImportanceSampling.of(model, x, samples, key)
    if tolerance is not None and sampling.tiling.blocks > 1:
        return AdaptiveSampling(sampling, float(tolerance), masked)
    return sampling


def _check_options(options: _Options, model: LatentModel) -> None:
    samples, key, method, tolerance = options
    if method not in METHODS:
        raise UsageError(f"method '{method}' is unknown; valid: {', '.join(METHODS)}")
    if method == "exact" and not isinstance(model, BitModel):
        raise UsageError(
            "method 'exact' lists the latent states of a Helmholtz machine, which this model is "
            "not: use method 'importance'"
        )
    if method == "importance" and key is None:
        raise UsageError("importance sampling needs a key, such as key=jax.random.key(0)")
    if samples < 1:
        raise UsageError(f"samples is {samples}, but it must be at least 1")
    if tolerance is not None and not tolerance > 0:
        raise UsageError(f"tolerance is {tolerance}, but it must be above 0")
