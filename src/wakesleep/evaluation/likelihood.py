"""log p(x) of a data set under a machine."""

from pathlib import Path
from typing import Any

import jax
from jaxtyping import Array, Key

from wakesleep.errors import UsageError
from wakesleep.evaluation.adaptive import AdaptiveSampling
from wakesleep.evaluation.evaluator import Evaluator
from wakesleep.evaluation.exact import Enumeration
from wakesleep.evaluation.partial_results import Checkpoint, fingerprint
from wakesleep.evaluation.result import LogLikelihood
from wakesleep.evaluation.sampling import ImportanceSampling
from wakesleep.evaluation.tiles import Tiling, tile_rows
from wakesleep.evaluation.visible import FullyVisible
from wakesleep.evaluation.workers import Progress, evaluate_all, workers_within
from wakesleep.inference.rows import checked_rows
from wakesleep.models import HelmholtzMachine

METHODS = ("importance", "exact")


def log_likelihood(
    model: HelmholtzMachine,
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
        model: the machine.
        data: `[N, D]` of 0 and 1: `PackedBits`, an array or a sparse matrix.
        samples: K per row; with a tolerance, the most that a row may take (a state that an
            annealed run scores counts as one).
        key: the randomness; "exact" needs none.
        method: "importance", or "exact" by listing the latent states of a small machine. A model
            without latents is always exact.
        tolerance: leave a row as soon as the standard error and the bias of its log p̂(x)
            are credibly below this many nats, instead of always drawing K samples; a row
            whose weights are too uneven for that goes on with annealed runs (`annealing.py`).
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
    _check_options(samples, key, method, tolerance)
    bits = checked_rows(model, data)
    evaluator: Evaluator
    if not model.latent_sizes:
        evaluator = FullyVisible(model)
    elif key is None or method == "exact":
        evaluator = Enumeration.of(model)
    else:
        evaluator = ImportanceSampling(model, Tiling.of(samples, tile_rows(model)), key)
        if tolerance is not None and evaluator.tiling.blocks > 1:
            evaluator = AdaptiveSampling(evaluator, float(tolerance))
    store = None
    if checkpoint is not None:
        key_data = None if key is None else jax.random.key_data(key).tolist()
        settings = (method, samples, tolerance, key_data)
        store = Checkpoint(Path(checkpoint), fingerprint(model, bits, *settings))
    workers = workers_within(int(memory), evaluator.bytes_per_tile)
    records = evaluate_all(evaluator, bits, workers=workers, checkpoint=store, progress=progress)
    return LogLikelihood(records, method if model.latent_sizes else "exact")


def _check_options(
    samples: int, key: Key[Array, ""] | None, method: str, tolerance: float | int | None
) -> None:
    if method not in METHODS:
        raise UsageError(f"method '{method}' is unknown; valid: {', '.join(METHODS)}")
    if method == "importance" and key is None:
        raise UsageError("importance sampling needs a key, such as key=jax.random.key(0)")
    if samples < 1:
        raise UsageError(f"samples is {samples}, but it must be at least 1")
    if tolerance is not None and not tolerance > 0:
        raise UsageError(f"tolerance is {tolerance}, but it must be above 0")
